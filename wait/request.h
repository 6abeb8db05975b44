/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the API server, retried until it gets a final answer. State and exports must not
 * be lost because the API server is unreachable, so only the deadline ends the retries. */
#pragma once

#include <jansson.h>

#include "common/kube/client.h"
#include "wait/deadline.h"

/* Creates the body (a new reference). Called for each attempt, so that no copy of a chunk, which is
 * large, has to be kept while the request is in progress. */
typedef json_t *request_body_fn(const void *data);

/* Sets on_done, data, is_not_retried, timeout_ms and, with make_body (NULL: no body), body of the
 * request. ret_object may be NULL. ERROR_EXISTS may be the answer to a retry of a create that had
 * succeeded. */
int request_perform(struct kube *kube, const struct deadline *deadline,
                    const struct kube_request *request, request_body_fn *make_body,
                    const void *body_data, json_t **ret_object, struct error *err) must_check;
