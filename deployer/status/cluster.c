/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/status/cluster.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/kube/list.h"
#include "deployer/item/metadata.h"

enum { LOG_BYTES_MAX = 256 * 1024 };

int cluster_open(const struct cluster_options *options, struct cluster *ret_cluster,
                 struct error *err)
{
    struct cluster cluster = {.host_namespace = options->host_namespace};

    if (loop_new(clock_system(), &cluster.loop, err) < 0 ||
        http_client_new(cluster.loop, "longshore/" LONGSHORE_VERSION, &cluster.http, err) < 0 ||
        kube_new_default(cluster.loop, cluster.http, options->kubeconfig, &cluster.landscaper,
                         err) < 0 ||
        (options->host_kubeconfig &&
         kube_new_default(cluster.loop, cluster.http, options->host_kubeconfig, &cluster.host,
                          err) < 0)) {
        cluster_close(&cluster);
        return -1;
    }
    if (!cluster.host)
        cluster.host = cluster.landscaper;
    *ret_cluster = cluster;
    return 0;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster->host != cluster->landscaper)
        kube_free(cluster->host);
    kube_free(cluster->landscaper);
    http_client_free(cluster->http);
    loop_free(cluster->loop);
    *cluster = (struct cluster){0};
}

int cluster_parse_item(const char *text, char **ret_namespace, char **ret_name, struct error *err)
{
    const char *slash = strchr(text, '/');

    if (!slash || slash == text || !slash[1] || strchr(slash + 1, '/'))
        return error_set(err, ERROR_INVALID, "\"%s\" is not of the form NAMESPACE/NAME", text);
    *ret_namespace = xstrndup(text, (size_t)(slash - text));
    *ret_name = xstrdup(slash + 1);
    return 0;
}

/* ---- items ---- */

static void keep_object(void *data, const json_t *object, const struct error *err)
{
    (void)err; /* a reduced object has name and status, which is what is needed */
    if (object)
        (void)json_array_append(data, doc_writable(object));
}

static int list(struct kube *kube, struct kube_resource resource, const char *namespace_name,
                const char *selector, json_t **ret_list, struct error *err)
{
    cleanup_json json_t *objects = json_array();
    const struct kube_list_options options = {
        .resource = resource,
        .namespace_name = namespace_name,
        .label_selector = selector,
        .on_item = keep_object,
        .data = objects,
    };

    if (kube_list_perform(kube, &options, err) < 0)
        return -1;
    *ret_list = steal(&objects);
    return 0;
}

int cluster_list_items(struct cluster *cluster, const char *namespace_name, json_t **ret_items,
                       struct error *err)
{
    if (list(cluster->landscaper, KUBE_DEPLOY_ITEMS, namespace_name, NULL, ret_items, err) == 0)
        return 0;
    if (err->kind == ERROR_DENIED && !namespace_name)
        return error_set(err, ERROR_DENIED, "%.800s; name one namespace with --namespace",
                         err->text);
    if (err->kind == ERROR_NOT_FOUND)
        return error_set(err, ERROR_NOT_FOUND,
                         "%.700s; is this Landscaper's cluster? Its CustomResourceDefinitions are "
                         "not installed",
                         err->text);
    return -1;
}

int cluster_read_item(struct cluster *cluster, const char *namespace_name, const char *name,
                      json_t **ret_item, struct error *err)
{
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = KUBE_DEPLOY_ITEMS,
                                         .namespace_name = namespace_name,
                                         .name = name,
                                         .is_reducible = true,
                                         .grace_seconds = -1};

    return kube_perform(cluster->landscaper, &request, ret_item, err);
}

/* ---- pods ---- */

char *cluster_pod_selector(const char *namespace_name, const char *name)
{
    cleanup_free char *name_value = name_label_value(name);
    cleanup_free char *namespace_value = name_label_value(namespace_name);

    return xasprintf(LABEL_ITEM_NAME "=%s," LABEL_ITEM_NAMESPACE "=%s", name_value,
                     namespace_value);
}

const json_t *cluster_pick_pod(const json_t *pods, const json_t *item)
{
    const char *job = doc_text_or(item, "status.jobID", "");
    const json_t *newest = NULL;

    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        const char *of = object_annotation(pod, ANNOTATION_JOB);

        if (of && *job && strcmp(of, job) == 0)
            return pod;
        /* Times of the API compare like texts. */
        if (!newest || strcmp(doc_text_or(pod, "metadata.creationTimestamp", ""),
                              doc_text_or(newest, "metadata.creationTimestamp", "")) > 0)
            newest = pod;
    }
    return newest;
}

int cluster_find_pod(struct cluster *cluster, const json_t *item, json_t **ret_pod,
                     struct error *err)
{
    cleanup_free char *selector = cluster_pod_selector(doc_text_or(item, "metadata.namespace", ""),
                                                       doc_text_or(item, "metadata.name", ""));
    cleanup_json json_t *pods = NULL;

    if (list(cluster->host, KUBE_PODS, cluster->host_namespace, selector, &pods, err) < 0)
        return err->kind == ERROR_DENIED && !cluster->host_namespace
                   ? error_set(err, ERROR_DENIED,
                               "%.700s; name the namespace of the pods with --host-namespace",
                               err->text)
                   : -1;
    *ret_pod = json_incref(doc_writable(cluster_pick_pod(pods, item)));
    return 0;
}

int cluster_read_log(struct cluster *cluster, const json_t *pod, const char *container,
                     int64_t lines, char **ret_text, struct error *err)
{
    cleanup_free char *query = xasprintf("container=%s&tailLines=%" PRId64, container, lines);
    const struct kube_request request = {
        .verb = KUBE_GET,
        .resource = KUBE_PODS,
        .namespace_name = doc_text_or(pod, "metadata.namespace", ""),
        .name = doc_text_or(pod, "metadata.name", ""),
        .subresource = "log",
        .query = query,
        .is_raw = true,
        .is_tail = true,
        .body_max = LOG_BYTES_MAX,
        .is_not_retried = true,
        .grace_seconds = -1,
    };
    cleanup_json json_t *text = NULL;

    if (kube_perform(cluster->host, &request, &text, err) < 0)
        return -1;
    *ret_text = xstrdup(json_is_string(text) ? json_string_value(text) : "");
    return 0;
}
