/* SPDX-License-Identifier: Apache-2.0 */
/* The directory that an OCI runtime starts a container from: config.json, with what the run has on
 * disk mounted where the contract says. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

struct runtime_bundle {
    const json_t *pod, *image_config;
    const char *run_path; /* of the workspace */
    const char *cgroup;   /* NULL: none can be made */
    bool has_files;       /* of a script item */
    bool is_shell, has_network, has_user_namespace;
};

/* Writes config.json into directory. */
int runtime_bundle_write(const struct runtime_bundle *bundle, const char *directory,
                         struct error *err) must_check;
