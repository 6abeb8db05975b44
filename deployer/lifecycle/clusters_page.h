/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of the lifecycle manager: clusters (Kymas) and modules (Manifests) by state. It
 * is fed with the events of both watches and knows nothing else of the manager. */
#pragma once

#include <stdbool.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "deployer/serve/server.h"

enum clusters_page_kind { CLUSTERS_PAGE_KYMAS, CLUSTERS_PAGE_MANIFESTS, CLUSTERS_PAGE_KINDS };

struct clusters_page_options {
    struct loop *loop;
    struct kube *kube;          /* the control plane */
    const char *namespace_name; /* of Kymas and Manifests */
    bool is_authenticated;
    bool (*is_leader)(const void *data);
    const void *data;
};

struct clusters_page;

/* All of options and the server are borrowed. */
struct clusters_page *clusters_page_new(const struct clusters_page_options *options,
                                        struct server *server);
/* After server_free(). NULL is fine. */
void clusters_page_free(struct clusters_page *page);
/* An event of the watch on this kind. page may be NULL. */
void clusters_page_event(struct clusters_page *page, enum clusters_page_kind kind,
                         enum kube_event event, const json_t *object);
