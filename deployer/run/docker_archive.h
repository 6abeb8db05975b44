/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of `docker save`, unpacked: manifest.json lists images, each with a configuration and
 * the tar files of its layers. */
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

/* Reads the image with this name ("repo:tag"), or the only one if name is NULL. *ret_archive must
 * be zero; call docker_archive_done() also after a failure. ERROR_NOT_FOUND if there is no such
 * image. */
int docker_archive_open(int directory_fd, const char *name, struct docker_archive *ret_archive,
                        struct error *err) must_check;
void docker_archive_done(struct docker_archive *archive);
/* Returns a descriptor of the layer's tar file at offset 0, verified against the configuration's
 * diff_ids. */
int docker_archive_open_layer(int directory_fd, const struct docker_archive *archive, size_t index,
                              struct error *err) must_check;
