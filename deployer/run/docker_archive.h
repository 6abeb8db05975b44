/* SPDX-License-Identifier: Apache-2.0 */
/* What `docker save` writes, unpacked: manifest.json names a configuration and the layers' tar
 * files. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

struct docker_archive {
    json_t *config;
    char digest[72]; /* of the configuration: Docker's image id */
    char **layers;   /* paths in the archive */
    size_t layer_count;
};

/* name: which image ("repo:tag"), or NULL: the only one. */
int docker_archive_open(int directory_fd, const char *name, struct docker_archive *ret_archive,
                        struct error *err) must_check;
void docker_archive_done(struct docker_archive *archive);
/* A descriptor of the layer's tar, verified against the configuration's diff_ids. */
int docker_archive_open_layer(int directory_fd, const struct docker_archive *archive, size_t index,
                              struct error *err) must_check;
