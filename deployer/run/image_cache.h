/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of images: blobs by digest, and root file systems by the digest of their image. The
 * directory may be removed whenever no run is in progress. */
#pragma once

#include <stdint.h>

#include "common/base/error.h"

struct image_cache;

/* Opens the cache at path, creating it if it is missing. If no other run has it open, it is pruned
 * first: temporary directories are removed, and the least recently used entries until at most
 * max_bytes remain. While it is open, no other process prunes. */
int image_cache_open(const char *path, uint64_t max_bytes, struct image_cache **ret_cache,
                     struct error *err) must_check;
void image_cache_close(struct image_cache *cache); /* NULL is fine */
define_cleanup(struct image_cache *, image_cache_close)
#define cleanup_image_cache __attribute__((cleanup(image_cache_closep)))

/* $XDG_CACHE_HOME/longshore/images, or ~/.cache/longshore/images. The caller frees. */
char *image_cache_default_path(void);

/* Creates an empty directory on the same file system as the cache. *ret_path is the caller's to
 * free, and to remove by image_cache_discard(). */
int image_cache_make_temporary(struct image_cache *cache, char **ret_path, struct error *err)
    must_check;
/* Removes such a directory with its content; NULL is fine. */
void image_cache_discard(struct image_cache *cache, const char *path);

/* Returns a descriptor of a cached blob. ERROR_NOT_FOUND if it is not cached. */
int image_cache_open_blob(struct image_cache *cache, const char *digest, struct error *err)
    must_check;
/* Moves a complete, verified file into the cache. */
int image_cache_keep_blob(struct image_cache *cache, const char *digest, const char *file,
                          struct error *err) must_check;

/* The path of a cached root file system, marked as used now; NULL if it is not cached. The caller
 * frees. */
char *image_cache_find_rootfs(struct image_cache *cache, const char *digest);
/* Moves a complete tree of this size into the cache. *ret_path is its new path, the caller's to
 * free. */
int image_cache_keep_rootfs(struct image_cache *cache, const char *digest, const char *tree,
                            uint64_t bytes, char **ret_path, struct error *err) must_check;
