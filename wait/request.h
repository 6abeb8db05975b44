/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the API server, tried until it is answered for good. What main left must not be
 * lost to an API server that is away, so only the end of patience ends the trying. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"
#include "wait/patience.h"

/* Makes the body (a new reference), for each attempt anew: a chunk of state is large, and while it
 * is on its way one copy less is kept. */
typedef json_t *request_body_fn(const void *data);

/* on_done, data, is_not_retried and timeout_ms of the request are set here, and body, by make_body
 * (NULL: there is none). ret_object may be NULL. A late ERROR_EXISTS is passed on. */
int request_perform(struct kube *kube, const struct patience *patience,
                    const struct kube_request *request, request_body_fn *make_body,
                    const void *body_data, json_t **ret_object, struct error *err) must_check;
