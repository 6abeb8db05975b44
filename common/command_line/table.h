/* SPDX-License-Identifier: Apache-2.0 */
/* Every command and option of the three programs, once: what parses them, --help, man pages and
 * completions all read this table. It is here and not with the programs because `longshore man` and
 * `longshore completion` tell of all three. A record holds what stands on the command line; its
 * texts are borrowed from argv, and checked by the program whose they are. */
#pragma once

#include <stdbool.h>

#include "common/base/options.h"

struct longshore_values {
    bool is_version, is_help;
};

struct run_values {
    struct option_list objects; /* --target, --context, --secret */
    const char *imports, *image, *operation, *from_cluster, *kubeconfig, *config;
    const char *state, *out, *cache, *cache_size;
    const char *runtime, *timeout, *grace, *network, *output;
    bool is_plain_http_allowed, is_insecure, is_kept, is_shell, is_verbose, is_help;
};

struct validate_values {
    const char *config, *output;
    bool is_strict, is_help;
};

struct render_values {
    struct option_list objects; /* --target, --context, --secret */
    const char *config, *operation, *output;
    bool is_help;
};

/* The switches of Go's logger change nothing here: there are neither stack traces nor callers in
 * our lines, and a line without its time helps nobody. */
struct log_values {
    const char *verbosity, *format;
    bool is_dev, is_cli, no_stacktrace, no_caller, no_timestamp;
};

struct controller_values {
    const char *config, *kubeconfig, *landscaper_kubeconfig, *metrics_address, *health_address;
    struct log_values log;
    bool is_version, is_help;
};

struct version_values {
    bool is_json, is_help;
};

/* Of completion, man and help. */
struct plain_values {
    bool is_help;
};

struct init_values {
    struct log_values log;
    bool is_version, is_help;
};

struct wait_values {
    const char *grace, *quiet, *request_timeout, *service_account_dir;
    struct log_values log;
    bool is_version, is_help;
};

extern const struct option_command COMMAND_LONGSHORE; /* its commands are those below */
extern const struct option_command COMMAND_RUN, COMMAND_VALIDATE, COMMAND_RENDER;
extern const struct option_command COMMAND_CONTROLLER, COMMAND_VERSION;
extern const struct option_command COMMAND_COMPLETION, COMMAND_MAN, COMMAND_HELP;
/* table_helpers.c */
extern const struct option_command COMMAND_INIT, COMMAND_WAIT;

/* Rows that several programs have, for the record's field log. */
#define TABLE_LOG_ROWS(record)                                                                     \
    option_text_with("verbosity", 'v', record, log.verbosity, "LEVEL",                             \
                     "how much is logged, info unless --dev", "error info debug", NULL),           \
        option_text_with("format", 'f', record, log.format, "FORMAT",                              \
                         "form of the log, json unless --dev or --cli", "json text", NULL),        \
        option_flag("dev", 0, record, log.is_dev, "log as text and at level debug"),               \
        option_flag("cli", 0, record, log.is_cli, "log as text"),                                  \
        option_flag("disable-stacktrace", 0, record, log.no_stacktrace, TABLE_NO_EFFECT),          \
        option_flag("disable-caller", 0, record, log.no_caller, TABLE_NO_EFFECT),                  \
        option_flag("disable-timestamp", 0, record, log.no_timestamp, TABLE_NO_EFFECT)
/* The last rows of a program that is started by itself, and of its record. */
#define TABLE_PROGRAM_ROWS(record)                                                                 \
    option_flag("version", 0, record, is_version, TABLE_VERSION), TABLE_LAST_ROWS(record)
#define TABLE_LAST_ROWS(record)                                                                    \
    option_flag("help", 'h', record, is_help, TABLE_HELP),                                         \
    {                                                                                              \
        0                                                                                          \
    }
#define TABLE_NO_EFFECT "taken for the Go program's sake, without effect"
#define TABLE_VERSION "print the version and exit"
#define TABLE_HELP "print this help and exit"
