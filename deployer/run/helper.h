/* SPDX-License-Identifier: Apache-2.0 */
/* init and wait in a local run: the very same programs as in a pod, as the pod's user, with the
 * pod's environment. Only its paths differ: they point to the stage. */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "common/base/error.h"

struct companion {
    const char *name;    /* of the container: init or wait */
    const char *program; /* on the stage */
    const json_t *pod;
    int output_fd; /* stderr and stdout */
    int end_fd;    /* wait: where main's end is told; else -1 */
    int64_t grace_ms;
    bool is_plain_http_allowed, is_insecure;
};

int companion_start(const struct companion *companion, pid_t *ret_pid, struct error *err)
    must_check;
/* The last words of a companion that failed; "" if it left none. Belongs to the caller. */
char *companion_message(const char *run_path, const char *name);
/* Its empty file for these words, before it starts. */
int companion_prepare(const char *run_path, const char *name, struct error *err) must_check;
