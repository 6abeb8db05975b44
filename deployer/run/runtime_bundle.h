/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the bundle of main's container for the OCI runtime, with the run's files as mounts. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

struct runtime_bundle {
    const json_t *pod, *image_config;
    const char *run_path; /* workspace_run_path() */
    const char *cgroup;   /* NULL: no control group, no limits */
    bool has_files;       /* a script item: mounts its files, read-only */
    bool is_shell, has_network, has_user_namespace;
};

/* Writes config.json to directory. ERROR_INVALID if neither image nor item names a program.
 * *ret_spec is its content, a new reference. */
int runtime_bundle_write(const struct runtime_bundle *bundle, const char *directory,
                         json_t **ret_spec, struct error *err) must_check;
