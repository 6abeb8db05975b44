/* SPDX-License-Identifier: Apache-2.0 */
/* What list, watch and lease need of the client. Part of kube/. */
#pragma once

#include "common/kube/client.h"

/* The most that one client has under way at a time in the common lane; what is more waits in line.
 * No server answers sooner if it is asked for more, and each answer is memory until it is read. */
enum { KUBE_IN_FLIGHT_MAX = 16 };
/* The same in the slow lane: enough for hundreds of logs a second where kubelets answer, and few
 * enough to be of no weight where they don't. */
enum { KUBE_SLOW_MAX = 4 };
enum { KUBE_CONNECT_TIMEOUT_MS = 5000 };
enum { KUBE_OBJECT_MAX = 4 * 1024 * 1024 };

/* Starts one exchange as this client: completes request with trust and credentials. There is no
 * retry, and an HTTP status is no error. */
int kube_http_start(struct kube *kube, struct http_request *request, struct http_call **ret_call,
                    struct error *err) must_check;

/* What an exchange came to: 0 for a 2xx answer, else -1 and the error. After 401 the token is read
 * again for the next request. */
int kube_http_result(struct kube *kube, const struct http_response *response,
                     const struct error *transport, const char *what, struct error *err) must_check;

/* Whether another try after 401 may go better: the token comes from a file. */
bool kube_has_token_file(const struct kube *kube);
bool kube_is_busy(const struct kube *kube);
