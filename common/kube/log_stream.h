/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a container, as it is written. Nothing is stored, so memory is bounded whatever the
 * size of the log. (A log that is short can be requested as usual: is_raw in client.h.) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/kube/client.h"

/* Receives a piece of the log. Non-zero with err set ends the stream with that error. */
typedef int kube_log_fn(void *data, const char *bytes, size_t size, struct error *err);

struct kube_log_options {
    const char *namespace_name, *pod, *container;
    int64_t tail_lines; /* negative: from the beginning */
    bool is_follow;     /* until the container ends */
    kube_log_fn *on_bytes;
    void *data;
};

/* Runs the loop until the log has ended. Errors are those of client.h: ERROR_INVALID if the
 * container has not started. Not from inside a callback of this client. */
int kube_log_perform(struct kube *kube, const struct kube_log_options *options, struct error *err)
    must_check;
