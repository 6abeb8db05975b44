/* SPDX-License-Identifier: Apache-2.0 */
/* All commands and options of the three programs. Option parsing, --help, man pages and completions
 * use this table; it is here because `longshore man` and `longshore completion` cover all programs.
 * Each command has a record of its values. Strings in it are borrowed from argv and validated by
 * the command. */
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
    bool is_plain_http, is_insecure, is_kept, is_shell, is_verbose, is_help;
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

struct diff_values {
    struct option_list objects; /* --target, --secret */
    const char *kubeconfig, *from_cluster, *state, *output;
    bool is_help;
};

/* How status and logs reach the clusters. */
struct cluster_values {
    const char *kubeconfig, *host_kubeconfig, *host_namespace;
};

struct status_values {
    struct cluster_values cluster;
    const char *namespace_name, *lines, *output;
    bool is_watch, is_hints, is_help;
};

struct logs_values {
    struct cluster_values cluster;
    const char *container, *lines;
    bool is_follow, is_help;
};

/* The last three are flags of Go's logger and have no effect: log lines have neither stack traces
 * nor callers, and always a timestamp. */
struct log_values {
    const char *verbosity, *format;
    bool is_dev, is_cli, no_stacktrace, no_caller, no_timestamp;
};

struct controller_values {
    const char *config, *kubeconfig, *landscaper_kubeconfig, *metrics_address, *health_address;
    struct log_values log;
    bool is_check, is_version, is_help;
};

struct registrations_values {
    const char *config, *namespace_name, *role, *external_types, *token_seconds, *acceptance;
    const char *kubeconfig, *metrics_address, *health_address, *page;
    struct log_values log;
    bool is_check, is_help;
};

struct lifecycle_values {
    const char *namespace_name, *registry, *sub_path, *registry_config, *module_state, *policy;
    const char *window_size, *kubeconfig, *metrics_address, *health_address, *page;
    const char *output; /* of plan */
    struct log_values log;
    bool is_own_cluster, is_shared, is_check, is_help;
};

struct agent_values {
    const char *config, *kubeconfig, *landscaper_kubeconfig, *metrics_address, *health_address;
    const char *directory, *timeout;
    struct log_values log;
    bool is_leave, is_register, is_prepare, is_check, is_version, is_help;
};

struct version_values {
    bool is_json, is_help;
};

/* For schema, completion, man and help. */
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

extern const struct option_command COMMAND_LONGSHORE; /* its commands are the following */
extern const struct option_command COMMAND_RUN, COMMAND_VALIDATE, COMMAND_RENDER, COMMAND_DIFF;
extern const struct option_command COMMAND_STATUS, COMMAND_LOGS;
extern const struct option_command COMMAND_CONTROLLER, COMMAND_REGISTRATIONS, COMMAND_LIFECYCLE;
extern const struct option_command COMMAND_AGENT;
extern const struct option_command COMMAND_SCHEMA, COMMAND_VERSION;
extern const struct option_command COMMAND_COMPLETION, COMMAND_MAN, COMMAND_HELP;
/* COMMAND_CONTROLLER, COMMAND_REGISTRATIONS, COMMAND_AGENT and COMMAND_LIFECYCLE are in
 * table_services.c, the following in table_helpers.c. */
extern const struct option_command COMMAND_INIT, COMMAND_WAIT;

/* Rows for the member log of a record. */
#define TABLE_LOG_ROWS(record)                                                                     \
    option_text_with("verbosity", 'v', record, log.verbosity, "LEVEL",                             \
                     "log level (default info; debug with --dev)", "error info debug", NULL),      \
        option_text_with("format", 'f', record, log.format, "FORMAT",                              \
                         "log format (default json; text with --dev or --cli)", "json text",       \
                         NULL),                                                                    \
        option_flag("dev", 0, record, log.is_dev, "log debug messages as text"),                   \
        option_flag("cli", 0, record, log.is_cli, "log as text"),                                  \
        option_flag("disable-stacktrace", 0, record, log.no_stacktrace, TABLE_NO_EFFECT),          \
        option_flag("disable-caller", 0, record, log.no_caller, TABLE_NO_EFFECT),                  \
        option_flag("disable-timestamp", 0, record, log.no_timestamp, TABLE_NO_EFFECT)
/* The last rows of a program. */
#define TABLE_PROGRAM_ROWS(record)                                                                 \
    option_flag("version", 0, record, is_version, TABLE_VERSION), TABLE_LAST_ROWS(record)
#define TABLE_LAST_ROWS(record)                                                                    \
    option_flag("help", 'h', record, is_help, TABLE_HELP),                                         \
    {                                                                                              \
        0                                                                                          \
    }
#define TABLE_NO_EFFECT "ignored; accepted for compatibility with the Go deployer"
#define TABLE_VERSION "print the version and exit"
#define TABLE_HELP "print this help and exit"
/* Facts about exit codes. */
#define TABLE_EXIT_DONE                                                                            \
    {                                                                                              \
        "EXIT STATUS", "0", "success"                                                              \
    }
#define TABLE_EXIT_FAILED                                                                          \
    {                                                                                              \
        "EXIT STATUS", "1", "failed; the last line on standard error says why"                     \
    }
#define TABLE_EXIT_INVALID                                                                         \
    {                                                                                              \
        "EXIT STATUS", "2", "usage or configuration error; the message names the option or field"  \
    }
