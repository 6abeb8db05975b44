/* SPDX-License-Identifier: Apache-2.0 */
/* How main ended, as the pod's status or the local runner tells it. Pure: the two ways to be told
 * are pod_watch.h and runner_line.h. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum main_end_kind {
    MAIN_RUNS,  /* or has not been started yet */
    MAIN_ENDED, /* with exit_code */
    MAIN_LOST,  /* nobody will ever tell: the pod is gone or another's, the runner died */
};

const char *main_end_kind_name(enum main_end_kind kind); /* for logs */

struct main_end {
    enum main_end_kind kind;
    int exit_code;
    char reason[64]; /* "Completed", "Error", "OOMKilled" ...; "" if unknown */
};

/* What else the pod's object says about us; "" and 0: nothing. */
struct pod_facts {
    char uid[64];
    int64_t created_unix_seconds;
    bool is_being_deleted; /* SIGTERM is on its way, or was sent before we could hear it */
};

/* pod is an object from the API. A uid other than expected_uid (NULL: any) is MAIN_LOST: pods of an
 * item have a fixed name, so the name may already be that of our successor. */
struct main_end main_end_from_pod(const json_t *pod, const char *expected_uid);
struct pod_facts main_end_pod_facts(const json_t *pod);

enum { MAIN_END_LINE_MAX = 4096 };

/* {"exitCode": N, "reason": "..."}; reason may be missing. ERROR_INVALID for anything else. */
int main_end_from_line(const char *line, size_t size, struct main_end *ret_end, struct error *err)
    must_check;
