/* SPDX-License-Identifier: Apache-2.0 */
/* How main ended, read from the pod's status or from the line of the local runner. No I/O; the
 * sources are pod_watch.h and exit_pipe.h. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum main_end_kind {
    MAIN_RUNNING,     /* or its status is not known yet */
    MAIN_NOT_STARTED, /* so far: its image is not there, or its container can't be created */
    MAIN_ENDED,       /* with exit_code */
    MAIN_LOST,        /* its end will never be reported: the pod is gone, the runner died */
};

const char *main_end_kind_name(enum main_end_kind kind); /* for logs */

struct main_end {
    enum main_end_kind kind;
    int exit_code;
    char reason[64]; /* "Completed", "OOMKilled", "ImagePullBackOff" ...; "" if unknown */
};

/* Other fields of the pod's object; "" and 0 if absent. */
struct pod_facts {
    char uid[64];
    int64_t created_unix_seconds;
    bool is_being_deleted; /* SIGTERM was sent, or will be shortly */
    bool is_end_requested; /* the controller deletes the pod when a snapshot is saved */
    int64_t grace_seconds; /* between SIGTERM and SIGKILL */
};

/* pod is an object of the API. A uid other than expected_uid (NULL: any) gives MAIN_LOST: all pods
 * of an item have the same name, so this may be a later pod. */
struct main_end main_end_from_pod(const json_t *pod, const char *expected_uid);
struct pod_facts main_end_pod_facts(const json_t *pod);

enum { MAIN_END_LINE_MAX = 4096 };

/* Parses {"exitCode": N, "reason": "..."}; reason is optional. ERROR_INVALID for anything else. */
int main_end_from_line(const char *line, size_t size, struct main_end *ret_end, struct error *err)
    must_check;
