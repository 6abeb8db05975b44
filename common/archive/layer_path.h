/* SPDX-License-Identifier: Apache-2.0 */
/* Where an entry of an image layer goes. Symlinks in its directory part are those of the image
 * (/lib -> usr/lib): they are resolved inside the root, as in the container, never by the kernel.
 * Internal to common/archive. */
#pragma once

#include "common/base/error.h"

struct layer_path {
    char *directory; /* below the root, free of symlinks; "" for the root itself */
    char *name;      /* last component */
    int parent_fd;   /* of directory, which was created if it was missing */
};

#define LAYER_PATH_INIT ((struct layer_path){.parent_fd = -1})

/* path is clean (beneath_clean_any_path) and not "". ERROR_INVALID if it goes through too many
 * symlinks or through something that is not a directory. */
int layer_path_open(int root_fd, const char *path, struct layer_path *ret_path, struct error *err)
    must_check;
void layer_path_done(struct layer_path *path);
#define cleanup_layer_path __attribute__((cleanup(layer_path_done)))
