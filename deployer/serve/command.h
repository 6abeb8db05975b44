/* SPDX-License-Identifier: Apache-2.0 */
/* What the main function of every long-running command does before and after its own work. */
#pragma once

#include "common/base/error.h"
#include "common/command_line/table.h"

struct daemon_command {
    const struct option_command *options;
    void *values; /* the record that belongs to options */
    const struct log_values *log;
    const bool *is_help;
    const bool *is_version; /* or NULL */
    const char *log_name;   /* of the program in its log lines */
    const char *version;    /* what --version prints */
    const char *on_failure; /* the message of the last log line: "unable to ..." */
};

enum { DAEMON_GO_ON = -1 };

/* Blocks signals, forbids core dumps, parses the options and configures the log. Returns
 * DAEMON_GO_ON, or the exit code if there is nothing more to do. */
int daemon_begin(const struct daemon_command *command, int argc, char **argv);
/* Logs the error and returns the exit code. */
int daemon_fail(const struct daemon_command *command, const struct error *err);
