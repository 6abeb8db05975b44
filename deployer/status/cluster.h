/* SPDX-License-Identifier: Apache-2.0 */
/* Reads items, pods and logs with the user's kubeconfig. Writes nothing. All functions block. */
#pragma once

#include <jansson.h>

#include "common/base/loop.h"
#include "common/kube/client.h"

/* Where to look; borrowed texts. */
struct cluster_options {
    const char *kubeconfig;      /* of Landscaper's cluster; NULL: found like kubectl's */
    const char *host_kubeconfig; /* of the cluster of the pods; NULL: the same cluster */
    const char *host_namespace;  /* of the pods; NULL: all namespaces are searched */
};

struct cluster {
    struct loop *loop;
    struct http_client *http;
    struct kube *landscaper;
    struct kube *host; /* may be the same */
    const char *host_namespace;
};

int cluster_open(const struct cluster_options *options, struct cluster *ret_cluster,
                 struct error *err) must_check;
void cluster_close(struct cluster *cluster);
static inline void cluster_closep(struct cluster *cluster)
{
    cluster_close(cluster);
}
#define cleanup_cluster __attribute__((cleanup(cluster_closep)))

/* Splits "NAMESPACE/NAME". Both belong to the caller. */
int cluster_parse_item(const char *text, char **ret_namespace, char **ret_name, struct error *err)
    must_check;

/* All DeployItems of a namespace (NULL: of all) as an array. New reference, as below. */
int cluster_list_items(struct cluster *cluster, const char *namespace_name, json_t **ret_items,
                       struct error *err) must_check;
int cluster_read_item(struct cluster *cluster, const char *namespace_name, const char *name,
                      json_t **ret_item, struct error *err) must_check;
/* The pod of the item's job, else its newest pod; *ret_pod is NULL if there is none. */
int cluster_find_pod(struct cluster *cluster, const json_t *item, json_t **ret_pod,
                     struct error *err) must_check;
/* The last lines of a container's log. Belongs to the caller. */
int cluster_read_log(struct cluster *cluster, const json_t *pod, const char *container,
                     int64_t lines, char **ret_text, struct error *err) must_check;

/* Label selector of the pods of an item, of both deployers. Belongs to the caller. */
char *cluster_pod_selector(const char *namespace_name, const char *name);
/* Picks the pod that cluster_find_pod() returns from a list. Borrowed, or NULL. */
const json_t *cluster_pick_pod(const json_t *pods, const json_t *item);
