/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the program: command line options, and the environment set by the controller (ours or
 * Go's) or by the local run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "common/base/log.h"

struct settings {
    bool is_help, is_version;
    enum log_level log_level;
    enum log_format log_format;
    uint64_t main_grace_ms;          /* how long main may run after SIGTERM */
    bool is_grace_known;             /* set explicitly; else the pod's value is used */
    uint64_t grace_ms;               /* between SIGTERM and SIGKILL */
    uint64_t idle_ms;                /* a stopped main that is idle for this long has ended */
    uint64_t request_timeout_ms;     /* of one request to the API server */
    const char *service_account_dir; /* NULL: PATH_SERVICE_ACCOUNT */

    const char *state_path, *exports_path;
    const char *item_name, *item_namespace; /* may be "" in a local run */
    const char *pod_name, *pod_namespace;   /* NULL in a local run */
    const char *job, *pod_uid;              /* NULL: not set (Go controller) */
    const char *termination_log;

    /* The last complete generation of the state, if the controller passes it. */
    bool is_last_known;
    int64_t last_sequence;                       /* 0: none */
    const char *last_sha256;                     /* "": none */
    int64_t next_sequence;                       /* 0: not set */
    const char *state_name_prefix, *export_name; /* NULL: default names */
    const char *report_name;                     /* NULL: write no report */

    /* The local run; NULL and -1 in a pod. */
    const char *sink_dir;
    int main_end_fd;
};

/* Strings are borrowed from argv and the environment. ERROR_INVALID names the option or variable.
 * With is_help or is_version the environment is not read. */
int settings_read(int argc, char **argv, struct settings *ret_settings, struct error *err)
    must_check;
