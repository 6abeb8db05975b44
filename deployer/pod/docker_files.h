/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's Docker configurations (Configuration.oci.configFiles), which are read again when
 * they change, for example when a mounted Secret is rotated. */
#pragma once

#include <jansson.h>

#include "common/base/memory.h"
#include "deployer/pod/docker_config.h"

struct docker_files;

/* paths end with NULL, may be NULL, and are borrowed. Reads nothing yet. */
struct docker_files *docker_files_new(char *const *paths);
void docker_files_free(struct docker_files *files); /* NULL is fine */

/* The present contents in the form of inputs_add_docker_config(). Calls stat() for each file and
 * reads only those that have changed. A file that can't be read or is not a Docker configuration is
 * reported once, and its last usable content is kept. Borrowed until the next call. */
const json_t *docker_files_now(struct docker_files *files, docker_config_report_fn *report,
                               void *data);

define_cleanup(struct docker_files *, docker_files_free)
#define cleanup_docker_files __attribute__((cleanup(docker_files_freep)))
