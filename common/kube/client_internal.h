/* SPDX-License-Identifier: Apache-2.0 */
/* What list.c and watch.c need of the client. Private to common/kube. */
#pragma once

#include "common/kube/client.h"

/* Concurrent requests in the normal lane. More would not make the server faster, and each response
 * takes memory until it is parsed. */
enum { KUBE_IN_FLIGHT_MAX = 16 };
/* Concurrent requests in the slow lane: enough for hundreds of logs per second if kubelets respond,
 * few enough to be no burden if they do not. */
enum { KUBE_SLOW_MAX = 4 };
enum { KUBE_CONNECT_TIMEOUT_MS = 5000 };
enum { KUBE_OBJECT_MAX = 4 * 1024 * 1024 };

/* Starts one HTTP request with the client's TLS settings and credentials. It is not retried. */
int kube_http_start(struct kube *kube, struct http_request *request, struct http_call **ret_call,
                    struct error *err) must_check;

/* Evaluates the result of such a request: 0 for 2xx, else -1 and the error. After 401 the next
 * request reads the token again. */
int kube_http_result(struct kube *kube, const struct http_response *response,
                     const struct error *transport, const char *what, struct error *err) must_check;

/* Whether a retry after 401 makes sense, because the token comes from a file. */
bool kube_has_token_file(const struct kube *kube);
/* Whether a callback is running, so that the loop must not be run now. */
bool kube_is_busy(const struct kube *kube);
