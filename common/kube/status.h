/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the API server that are no success become errors. Pure. Part of kube/. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { KUBE_RETRY_AFTER_MAX_MS = 60000 };

/* From a status code and a body, which is a Status object, other JSON, plain text or nothing. what
 * comes first in the text. retry_after_ms is the header's; the body's is used where it is longer.
 * Always returns -1, as error_set(). */
int kube_status_error(int http_status, const char *body, size_t size, uint32_t retry_after_ms,
                      const char *what, struct error *err);
/* The same for a Status object, as in the ERROR event of a watch; its own code counts. */
int kube_status_error_object(const json_t *status, const char *what, struct error *err);
/* Whether something could not be created because its namespace is being deleted: nothing can be,
 * there, by anybody. */
bool kube_is_namespace_going(const struct error *err);
