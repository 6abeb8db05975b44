/* SPDX-License-Identifier: Apache-2.0 */
/* Flags, compatible with the Go program, and environment variables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/log.h"

struct options {
    const char *configuration_path;
    const char *imports_path, *exports_path, *component_descriptor_path, *target_path;
    const char *content_path, *state_path;
    const char *item_name, *item_namespace;
    const char *pod_namespace;          /* NULL: not set; required only for state in Secrets */
    const char *registry_secrets_dir;   /* NULL: none */
    const char *ocm_configuration_path; /* NULL: none */
    const char *target_source;
    const char *state_source_dir; /* NULL: not set, as under the Go controller */
    const char *termination_log;
    uint64_t deadline_ms;
    bool is_plain_http_allowed, is_insecure;

    enum log_level level;
    enum log_format format;
    bool is_format_given; /* otherwise text is the format on a terminal */
    bool is_version_asked, is_help_asked;
};

/* Reads the flags. ERROR_INVALID names the one that is wrong. */
int options_from_arguments(int argc, char **argv, struct options *ret_options, struct error *err)
    must_check;
/* Reads the environment. ERROR_INVALID lists all missing variables. The strings in options are
 * borrowed from the environment. */
int options_from_environment(struct options *options, struct error *err) must_check;
