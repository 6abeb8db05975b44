/* SPDX-License-Identifier: Apache-2.0 */
/* Failures that a cluster shows on command. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "e2e/fleet/counters.h"
#include "e2e/fleet/query.h"

enum fault_type {
    FAULT_STATUS, /* responds with code, and with Retry-After if it is given */
    FAULT_HANG,   /* accepts the request and never responds */
    FAULT_SLOW,   /* responds after delay_ms */
    FAULT_RESET,  /* resets the connection when a request arrives */
    FAULT_DOWN,   /* resets every connection that is opened */
    FAULT_SILENT, /* accepts connections and never reads from them */
};

struct fault {
    enum fault_type type;
    int code;
    uint32_t retry_after_s, delay_ms;
    int verb;       /* enum verb, or -1: all */
    char *resource; /* as in counters, or NULL: all */
    uint64_t left;  /* requests until it ends; 0: no limit */
    struct fault *next;
};

/* Zeroed memory is a cluster without faults. */
struct faults {
    struct fault *first;
};

void faults_done(struct faults *faults); /* ends all of them */
/* Adds the fault that a command describes: type, code, retryAfter, delay, verb, resource, count.
 * ERROR_INVALID names what is wrong. */
int faults_add(struct faults *faults, const struct query *query, struct error *err) must_check;
/* The fault for a request, or NULL; counts it. Faults of connections do not count. */
bool faults_take(struct faults *faults, enum verb verb, const char *resource,
                 struct fault *ret_fault);
/* Whether there is a fault of this type. */
bool faults_has(const struct faults *faults, enum fault_type type);
