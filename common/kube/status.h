/* SPDX-License-Identifier: Apache-2.0 */
/* Turns error responses of the API server into struct error. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { KUBE_RETRY_AFTER_MAX_MS = 60000 };

/* body is a Status object, other JSON, plain text or empty. what is the prefix of the message.
 * retry_after_ms comes from the Retry-After header; that of the body is used if it is longer.
 * Always returns -1, like error_set(). */
int kube_status_error(int http_status, const char *body, size_t size, uint32_t retry_after_ms,
                      const char *what, struct error *err);
/* The same for a Status object, as in an ERROR event of a watch; the status code is its own. */
int kube_status_error_object(const json_t *status, const char *what, struct error *err);
/* Whether an object could not be created because its namespace is being deleted. */
bool kube_is_namespace_terminating(const struct error *err);
