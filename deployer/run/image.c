/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/layer.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/run/blobs.h"
#include "deployer/run/docker_archive.h"
#include "deployer/run/image_index.h"

enum { POLL_MS = 100 }; /* how often unpacking handles signals, timers and the progress line */

void image_done(struct image *image)
{
    free(image->rootfs);
    free(image->digest);
    free(image->foreign_platform);
    json_decref(image->config);
    *image = (struct image){0};
}

int image_run_loop(const struct image_request *request, bool is_waiting, struct error *err)
{
    if (loop_run_once(request->loop, is_waiting ? -1 : 0, err) < 0)
        return -1;
    if (request->stop->kind == ERROR_NONE)
        return 0;
    *err = *request->stop;
    return -1;
}

/* Signals and timers are handled here as well, because unpacking does not run the loop itself. */
static int report_progress(const struct image_request *request, const char *what, uint64_t bytes,
                           struct error *err)
{
    request->on_progress(request->data, what, bytes);
    return image_run_loop(request, false, err);
}

/* ---- Unpacking layers into a tree of the cache. ---- */

struct tree {
    struct image_cache *cache;
    char *outer; /* temporary directory; the tree is moved out of it when it is complete */
    char *path;
    int fd;
    uint64_t bytes;
};

static void tree_done(struct tree *tree)
{
    if (tree->fd >= 0)
        (void)close(tree->fd);
    if (tree->cache)
        image_cache_discard(tree->cache, tree->outer);
    free(tree->outer);
    free(tree->path);
}

static int tree_make(struct image_cache *cache, struct tree *tree, struct error *err)
{
    *tree = (struct tree){.cache = cache, .fd = -1};
    if (image_cache_make_temporary(cache, &tree->outer, err) < 0)
        return -1;
    tree->path = xasprintf("%s/root", tree->outer);
    if (mkdir(tree->path, 0755) < 0)
        return error_set_errno(err, errno, "create directory \"%s\"", tree->path);
    tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tree->fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", tree->path);
    return 0;
}

struct unpacking {
    const struct image_request *request;
    const char *what;
    uint64_t bytes_before, polled_ms;
};

static int on_block(void *data, uint64_t bytes, struct error *err)
{
    struct unpacking *unpacking = data;
    uint64_t now_ms = loop_now_ms(unpacking->request->loop);

    if (now_ms - unpacking->polled_ms < POLL_MS)
        return 0;
    unpacking->polled_ms = now_ms;
    return report_progress(unpacking->request, unpacking->what, unpacking->bytes_before + bytes,
                           err);
}

static int tree_add(const struct image_request *request, const char *what, struct tree *tree,
                    int layer_fd, struct error *err)
{
    struct unpacking unpacking = {.request = request, .what = what, .bytes_before = tree->bytes};
    struct layer_options options = {.limits = &ARCHIVE_LIMITS_LAYER,
                                    .is_owner_kept = true,
                                    .on_block = on_block,
                                    .data = &unpacking};
    struct unpack_counts counts = {0};

    if (layer_unpack(tree->fd, &options, layer_fd, &counts, err) < 0)
        return -1;
    tree->bytes += counts.bytes;
    return 0;
}

/* ---- OCI layouts and registries. ---- */

static int unpack_layers(const struct image_request *request, struct blobs *blobs,
                         const struct manifest *manifest, struct tree *tree, struct error *err)
{
    for (size_t i = 0; i < manifest->entry_count; i++) {
        cleanup_free char *what = xasprintf("layer %zu of %zu", i + 1, manifest->entry_count);
        cleanup_close int fd = -1;

        if (report_progress(request, what, tree->bytes, err) < 0)
            return -1;
        fd = blobs_open(blobs, &manifest->entries[i], err);
        if (fd < 0 || tree_add(request, what, tree, fd, err) < 0)
            return error_wrap(err, "%s", what);
    }
    return 0;
}

static int prepare_blobs(const struct image_request *request, struct blobs *blobs,
                         struct image *image, struct error *err)
{
    cleanup_manifest struct manifest manifest = {0};
    cleanup_json json_t *config = NULL;
    __attribute__((cleanup(tree_done))) struct tree tree = {.fd = -1};

    if (report_progress(request, "manifest", 0, err) < 0 ||
        blobs_read_manifest(blobs, request->source->tag, &manifest, &image->digest, err) < 0 ||
        blobs_read_document(blobs, &manifest.config, &config, err) < 0)
        return -1;
    image->config = json_incref(json_object_get(config, "config"));
    image->foreign_platform = image_index_foreign_platform(config);
    image->rootfs = image_cache_find_rootfs(request->cache, image->digest);
    image->was_cached = image->rootfs != NULL;
    if (image->rootfs)
        return 0;
    if (tree_make(request->cache, &tree, err) < 0 ||
        unpack_layers(request, blobs, &manifest, &tree, err) < 0)
        return -1;
    return image_cache_keep_rootfs(request->cache, image->digest, tree.path, tree.bytes,
                                   &image->rootfs, err);
}

/* ---- Archives: unpacked to a temporary directory first. ---- */

static int unpack_archive(const struct image_request *request, struct tree *tree, struct error *err)
{
    cleanup_close int fd = open(request->source->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", request->source->path);
    if (report_progress(request, "archive", 0, err) < 0 || tree_make(request->cache, tree, err) < 0)
        return -1;
    return tree_add(request, "archive", tree, fd, err);
}

static int prepare_docker(const struct image_request *request, const struct tree *archive,
                          struct image *image, struct error *err)
{
    __attribute__((cleanup(tree_done))) struct tree tree = {.fd = -1};
    struct docker_archive docker = {0};
    int result = docker_archive_open(archive->fd, request->source->tag, &docker, err);

    if (result == 0) {
        image->config = json_incref(json_object_get(docker.config, "config"));
        image->foreign_platform = image_index_foreign_platform(docker.config);
        image->digest = xstrdup(docker.digest);
        image->rootfs = image_cache_find_rootfs(request->cache, image->digest);
        image->was_cached = image->rootfs != NULL;
        if (!image->rootfs)
            result = tree_make(request->cache, &tree, err);
        for (size_t i = 0; result == 0 && !image->was_cached && i < docker.layer_count; i++) {
            cleanup_free char *what = xasprintf("layer %zu of %zu", i + 1, docker.layer_count);
            cleanup_close int fd = docker_archive_open_layer(archive->fd, &docker, i, err);

            result = fd < 0 ? -1 : tree_add(request, what, &tree, fd, err);
        }
        if (result == 0 && !image->was_cached)
            result = image_cache_keep_rootfs(request->cache, image->digest, tree.path, tree.bytes,
                                             &image->rootfs, err);
    }
    docker_archive_done(&docker);
    return result;
}

static int prepare(const struct image_request *request, struct image *image, struct error *err)
{
    cleanup_blobs struct blobs *blobs = NULL;
    __attribute__((cleanup(tree_done))) struct tree archive = {.fd = -1};

    switch (request->source->kind) {
    case SOURCE_ROOTFS:
        image->rootfs = realpath(request->source->path, NULL);
        return image->rootfs
                   ? 0
                   : error_set_errno(err, errno, "directory \"%s\"", request->source->path);
    case SOURCE_REGISTRY:
        if (blobs_from_registry(request, &blobs, err) < 0)
            return -1;
        return prepare_blobs(request, blobs, image, err);
    case SOURCE_OCI:
        blobs = blobs_from_layout(request, request->source->path);
        return prepare_blobs(request, blobs, image, err);
    case SOURCE_OCI_ARCHIVE:
        if (unpack_archive(request, &archive, err) < 0)
            return -1;
        blobs = blobs_from_layout(request, archive.path);
        return prepare_blobs(request, blobs, image, err);
    case SOURCE_DOCKER_ARCHIVE:
        return unpack_archive(request, &archive, err) < 0
                   ? -1
                   : prepare_docker(request, &archive, image, err);
    }
    return error_set(err, ERROR_INTERNAL, "unknown kind of image");
}

int image_prepare(const struct image_request *request, struct image *ret_image, struct error *err)
{
    struct image image = {0};

    if (prepare(request, &image, err) < 0) {
        image_done(&image);
        /* Whatever step was stopped, the user needs only the reason. */
        if (request->stop->kind != ERROR_NONE)
            *err = *request->stop;
        return error_wrap(err, "image \"%s\"", request->source->path);
    }
    *ret_image = image;
    return 0;
}
