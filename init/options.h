/* SPDX-License-Identifier: Apache-2.0 */
/* What init is told: flags as the Go program takes them, and the environment of the contract. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/log.h"

struct options {
    /* Borrowed from the environment. */
    const char *configuration_path;
    const char *imports_path, *exports_path, *component_descriptor_path, *target_path;
    const char *content_path, *state_path;
    const char *item_name, *item_namespace;
    const char *pod_namespace;          /* NULL: not given; needed only for state in Secrets */
    const char *registry_secrets_dir;   /* NULL: none */
    const char *ocm_configuration_path; /* NULL: none */
    const char *target_source;
    const char *state_source_dir; /* NULL: not our controller */
    const char *termination_log;
    uint64_t deadline_ms;
    bool is_plain_http_allowed, is_insecure;

    enum log_level level;
    enum log_format format;
    bool is_format_given; /* else text on a terminal */
    bool is_version_asked, is_help_asked;
};

/* The flags. ERROR_INVALID names the one that is wrong. */
int options_from_arguments(int argc, char **argv, struct options *ret_options, struct error *err)
    must_check;
/* The environment; all missing variables are named in one error. */
int options_from_environment(struct options *options, struct error *err) must_check;
