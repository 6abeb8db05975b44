/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's Docker configurations (Configuration.oci.configFiles), which may change while the
 * controller lives: a mounted Secret is rotated. */
#pragma once

#include <jansson.h>

#include "common/base/memory.h"
#include "deployer/pod/docker_config.h"

struct docker_files;

/* paths (NULL at their end, or NULL) are borrowed. Nothing is read yet. */
struct docker_files *docker_files_new(char *const *paths);
void docker_files_free(struct docker_files *files); /* NULL is fine */

/* What the files hold now, as inputs_add_docker_config() keeps it. One stat() a file; only what has
 * changed is read again. A file that can't be read or is no Docker configuration is told of once,
 * and stands for what it held before. Borrowed until the next call. */
const json_t *docker_files_now(struct docker_files *files, docker_config_tell_fn *tell, void *data);

define_cleanup(struct docker_files *, docker_files_free)
#define cleanup_docker_files __attribute__((cleanup(docker_files_freep)))
