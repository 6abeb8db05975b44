/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of images: blobs by digest, and root file systems by the digest of their image. Lives
 * in $XDG_CACHE_HOME/longshore/images; may be removed at any time that no run is under way. */
#pragma once

#include <stdint.h>

#include "common/base/error.h"

struct store;

/* Makes what is missing. While it is open no other process prunes. Before that, if nobody else has
 * it open: left-overs of interrupted runs go, and the longest unused images until max_bytes are
 * kept. */
int store_open(const char *path, uint64_t max_bytes, struct store **ret_store, struct error *err)
    must_check;
void store_close(struct store *store);
define_cleanup(struct store *, store_close)
#define cleanup_store __attribute__((cleanup(store_closep)))

/* $XDG_CACHE_HOME/longshore/images, or below ~/.cache. Belongs to the caller. */
char *store_default_path(void);

const char *store_path(const struct store *store);

/* A new empty directory beside the others, to be filled and then moved in. Belongs to the caller.
 */
int store_make_temporary(struct store *store, char **ret_path, struct error *err) must_check;
/* Removes such a directory with all that is left in it; NULL is fine. */
void store_discard(struct store *store, const char *path);

/* The file of a blob that is there already, opened; ERROR_NOT_FOUND. */
int store_open_blob(struct store *store, const char *digest, struct error *err) must_check;
/* Moves a complete, verified file in. */
int store_keep_blob(struct store *store, const char *digest, const char *file, struct error *err)
    must_check;

/* The root file system of an image, if it is there; its time of use is set to now. NULL: it is not.
 */
char *store_find_rootfs(struct store *store, const char *digest);
/* Moves a finished tree in and notes its size; *ret_path is where it is now. */
int store_keep_rootfs(struct store *store, const char *digest, const char *tree, uint64_t bytes,
                      char **ret_path, struct error *err) must_check;
