/* SPDX-License-Identifier: Apache-2.0 */
/* What an error means for a cluster or a module, and how long to wait before the next attempt.
 * Pure. */
#pragma once

#include <stdint.h>

#include "common/base/error.h"

enum failure_class {
    FAILURE_NONE,
    FAILURE_NETWORK,      /* the cluster cannot be reached: nothing works */
    FAILURE_UNAUTHORIZED, /* the credentials are not valid: another Secret is needed */
    FAILURE_OBJECT,       /* this object cannot be written; the connection is fine */
    FAILURE_BUSY,         /* the server asks to come back later */
    FAILURE_CONTENT,      /* the module itself is wrong: until its version changes */
    FAILURE_COUNT,
};

enum failure_class failure_classify(const struct error *err);
const char *failure_name(enum failure_class class); /* for logs and metrics */
/* The first delay and the longest; 0 for FAILURE_CONTENT: no retry. */
void failure_delays(enum failure_class class, uint32_t *ret_first_ms, uint32_t *ret_max_ms);
