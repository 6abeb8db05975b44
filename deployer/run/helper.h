/* SPDX-License-Identifier: Apache-2.0 */
/* Starts init and wait in a local run: the same programs as in a pod, as the pod's user, with the
 * pod's environment. Only paths differ: they point to the staging directory. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct helper {
    const char *name;    /* of the container: init or wait */
    const char *program; /* STAGING_INIT or STAGING_WAIT */
    const json_t *pod;
    int output_fd; /* its stdout and stderr */
    int end_fd;    /* wait: the pipe that reports main's end; -1 for init */
    int64_t grace_ms;
    bool is_plain_http, is_insecure;
};

int helper_start(const struct helper *helper, pid_t *ret_pid, struct error *err) must_check;
/* Tells wait, over its pipe, how main ended, as a kubelet does in the pod status. If wait is gone,
 * nothing happens. */
void helper_report_end(int end_fd, int exit_code, bool is_out_of_memory);
/* The termination message that the container left in RUN_PATH, "" if there is none. The caller
 * frees. */
char *helper_message(const char *run_path, const char *name);
/* Creates the empty file for that message; to be called before the container starts. */
int helper_prepare(const char *run_path, const char *name, struct error *err) must_check;
