/* SPDX-License-Identifier: Apache-2.0 */
/* Reports main's end as the API server knows it, with one watch on the own pod. If the watch is
 * forbidden (the Role of the Go controller allows get, not watch), the pod is polled every second
 * at first and every five seconds later. */
#pragma once

#include "common/kube/client.h"
#include "wait/main_end.h"

struct pod_watch;

/* Called from the loop for each status of the pod; the last call has MAIN_ENDED or MAIN_LOST. */
typedef void pod_watch_fn(void *data, const struct main_end *end, const struct pod_facts *facts);

struct pod_watch_options {
    const char *pod_name, *pod_namespace; /* borrowed until the watch is stopped */
    const char *pod_uid;                  /* NULL: uid of the first pod seen */
    pod_watch_fn *on_seen;
    void *data;
};

int pod_watch_start(struct kube *kube, const struct pod_watch_options *options,
                    struct pod_watch **ret_watch, struct error *err) must_check;
void pod_watch_free(struct pod_watch *watch); /* NULL is fine; not from inside on_seen */
define_cleanup(struct pod_watch *, pod_watch_free)
#define cleanup_pod_watch __attribute__((cleanup(pod_watch_freep)))
