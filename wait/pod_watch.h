/* SPDX-License-Identifier: Apache-2.0 */
/* Learns main's end from the API server: one watch on our own pod, for as long as it takes. Where
 * the watch is denied (Go's Role has get but not watch) by a GET every second, slowing to every
 * five. */
#pragma once

#include "common/kube/client.h"
#include "wait/main_end.h"

struct pod_watch;

/* Each time the pod was seen; the last call has an end that is not MAIN_RUNS. From the loop. */
typedef void pod_watch_fn(void *data, const struct main_end *end, const struct pod_facts *facts);

struct pod_watch_options {
    const char *pod_name, *pod_namespace; /* borrowed until the watch is stopped */
    const char *pod_uid;                  /* NULL: that of the first pod seen */
    pod_watch_fn *on_seen;
    void *data;
};

int pod_watch_start(struct kube *kube, const struct pod_watch_options *options,
                    struct pod_watch **ret_watch, struct error *err) must_check;
void pod_watch_free(struct pod_watch *watch); /* NULL is fine; not from inside on_seen */
define_cleanup(struct pod_watch *, pod_watch_free)
#define cleanup_pod_watch __attribute__((cleanup(pod_watch_freep)))
