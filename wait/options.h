/* SPDX-License-Identifier: Apache-2.0 */
/* What the program is told: flags, and the environment that the controller (ours or Go's) or the
 * local run sets. */
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
    uint64_t grace_ms;               /* between SIGTERM and SIGKILL */
    uint64_t quiet_ms;               /* a stopped main that is quiet for so long has ended */
    uint64_t request_timeout_ms;     /* for one request to the API server */
    const char *service_account_dir; /* NULL: the contract's */

    const char *state_path, *exports_path;
    const char *item_name, *item_namespace; /* "" in a local run that names none */
    const char *pod_name, *pod_namespace;   /* NULL in a local run */
    const char *job, *pod_uid;              /* NULL: not told (Go's controller) */
    const char *termination_log;

    /* The last whole generation of the state. */
    bool is_last_told;
    int64_t last_sequence;                       /* 0: there is none */
    const char *last_sha256;                     /* "" likewise */
    int64_t next_sequence;                       /* 0: not told */
    const char *state_name_prefix, *export_name; /* NULL: the contract's */

    /* The local run; NULL and -1 in a pod. */
    const char *sink_dir;
    int main_end_fd;
};

/* Texts are borrowed from argv and the environment. ERROR_INVALID names the flag or variable.
 * With is_help or is_version set the environment was not looked at. */
int settings_read(int argc, char **argv, struct settings *ret_settings, struct error *err)
    must_check;
