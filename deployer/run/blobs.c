/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "common/net/http.h"
#include "common/oci/registry.h"
#include "deployer/run/image_index.h"

/* The index of a layout lists indexes of platforms, which list manifests; one more level is
 * allowed. */
enum { DOCUMENT_MAX = 4 * 1024 * 1024, INDEX_DEPTH_MAX = 3 };
static const uint64_t LAYER_MAX = (uint64_t)16 << 30;

struct blobs {
    const struct image_request *request;
    char *layout; /* directory; NULL for a registry */
    struct http_client *http;
    struct registry *registry;
    struct reference *reference;
};

struct blobs *blobs_from_layout(const struct image_request *request, const char *path)
{
    struct blobs *blobs = xcalloc(1, sizeof(*blobs));

    blobs->request = request;
    blobs->layout = xstrdup(path);
    return blobs;
}

int blobs_from_registry(const struct image_request *request, struct blobs **ret_blobs,
                        struct error *err)
{
    cleanup_blobs struct blobs *blobs = xcalloc(1, sizeof(*blobs));
    struct registry_options options = {
        .keyring = request->keyring,
        .is_plain_http_allowed = request->is_plain_http,
        .is_insecure = request->is_insecure,
        .on_retry = request->on_retry,
        .on_retry_data = request->data,
    };

    blobs->request = request;
    if (reference_parse(request->source->path, &blobs->reference, err) < 0 ||
        http_client_new(request->loop, "longshore/" LONGSHORE_VERSION, &blobs->http, err) < 0 ||
        registry_new(request->loop, blobs->http, &options, &blobs->registry, err) < 0)
        return -1;
    *ret_blobs = steal(&blobs);
    return 0;
}

void blobs_free(struct blobs *blobs)
{
    if (!blobs)
        return;
    registry_free(blobs->registry);
    http_client_free(blobs->http);
    reference_free(blobs->reference);
    free(blobs->layout);
    free(blobs);
}

static struct registry_place place_of(const struct blobs *blobs)
{
    return (struct registry_place){.host = reference_host(blobs->reference),
                                   .repository = reference_repository(blobs->reference),
                                   .is_plain_http = blobs->request->is_plain_http};
}

/* ---- Layout directories. ---- */

static int open_in_layout(const struct blobs *blobs, const struct content *content,
                          struct error *err)
{
    cleanup_free char *path = xasprintf("%s/blobs/%s", blobs->layout, content->digest);
    char *colon = strrchr(path, ':');
    cleanup_close int fd = -1;
    struct stat info = {0};

    if (colon)
        *colon = '/';
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, errno, "open \"%s\"", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_INVALID, "blob %s is not a regular file", content->digest);
    if (content->size >= 0 && info.st_size != content->size)
        return error_set(err, ERROR_INVALID, "blob %s has %lld bytes; its manifest says %lld",
                         content->digest, (long long)info.st_size, (long long)content->size);
    if (digest_check_file(fd, path, content->digest, err) < 0)
        return -1;
    return steal_fd(&fd);
}

/* ---- Registries, through the cache. ---- */

/* Runs the loop until the callback of the call has set *is_done. */
static int await_call(const struct blobs *blobs, const bool *is_done, struct registry_call *call,
                      struct error *err)
{
    while (!*is_done) {
        if (image_run_loop(blobs->request, true, err) < 0) {
            if (!*is_done)
                registry_cancel(call);
            return -1;
        }
    }
    return 0;
}

struct download {
    const struct blobs *blobs;
    int fd;
    uint64_t bytes;
    bool is_done;
    struct error err;
};

static int write_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    struct download *download = data;
    const struct image_request *request = download->blobs->request;

    if (file_write_all(download->fd, "image cache", bytes, size, err) < 0)
        return -1;
    download->bytes += size;
    request->on_progress(request->data, "downloading", download->bytes);
    return 0;
}

static void start_over(void *data)
{
    struct download *download = data;

    download->bytes = 0;
    (void)!ftruncate(download->fd, 0);
    (void)lseek(download->fd, 0, SEEK_SET);
}

static void finish(void *data, const struct error *err)
{
    struct download *download = data;

    download->is_done = true;
    download->err = *err;
}

static int fetch(struct blobs *blobs, const struct content *content, const char *file,
                 struct error *err)
{
    cleanup_close int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    struct download download = {.blobs = blobs, .fd = fd};
    struct registry_call *call = NULL;
    struct registry_place place = place_of(blobs);
    struct registry_blob wanted = {.digest = content->digest,
                                   .size = content->size,
                                   .max_bytes = LAYER_MAX,
                                   .on_bytes = write_bytes,
                                   .on_restart = start_over,
                                   .on_done = finish,
                                   .data = &download};

    if (fd < 0)
        return error_set_errno(err, errno, "create \"%s\"", file);
    if (registry_get_blob(blobs->registry, &place, &wanted, &call, err) < 0)
        return -1;
    if (await_call(blobs, &download.is_done, call, err) < 0)
        return -1;
    if (download.err.kind != ERROR_NONE) {
        *err = download.err;
        return -1;
    }
    return 0;
}

static int open_cached(struct blobs *blobs, const struct content *content, struct error *err)
{
    struct image_cache *cache = blobs->request->cache;
    cleanup_free char *directory = NULL;
    cleanup_free char *file = NULL;
    int fd = image_cache_open_blob(cache, content->digest, err);

    if (fd >= 0 || err->kind != ERROR_NOT_FOUND)
        return fd;
    if (image_cache_make_temporary(cache, &directory, err) < 0)
        return -1;
    file = xasprintf("%s/blob", directory);
    if (fetch(blobs, content, file, err) < 0 ||
        image_cache_keep_blob(cache, content->digest, file, err) < 0)
        return -1;
    image_cache_discard(cache, directory);
    return image_cache_open_blob(cache, content->digest, err);
}

/* ---- Both. ---- */

int blobs_open(struct blobs *blobs, const struct content *content, struct error *err)
{
    return blobs->layout ? open_in_layout(blobs, content, err) : open_cached(blobs, content, err);
}

int blobs_read_document(struct blobs *blobs, const struct content *content, json_t **ret_document,
                        struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_close int fd = blobs_open(blobs, content, err);

    if (fd < 0)
        return -1;
    buffer_init(&text, DOCUMENT_MAX);
    if (file_read_all(fd, content->digest, &text, err) < 0)
        return -1;
    if (doc_parse_json(text.data ? text.data : "", text.size, DOCUMENT_MAX, ret_document, err) < 0)
        return error_wrap(err, "blob %s", content->digest);
    return 0;
}

static int read_layout_index(const struct blobs *blobs, struct manifest *ret_manifest,
                             struct error *err)
{
    cleanup_free char *path = xasprintf("%s/index.json", blobs->layout);
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, DOCUMENT_MAX);
    if (doc_read_file(path, DOCUMENT_MAX, &text, err) < 0) {
        if (err->kind == ERROR_NOT_FOUND)
            return error_set(err, ERROR_INVALID,
                             "not an OCI layout: there is no \"index.json\" (docker-archive:FILE "
                             "is for archives of docker save)");
        return -1;
    }
    if (manifest_parse(text.data ? text.data : "", text.size, NULL, ret_manifest, err) < 0)
        return error_wrap(err, "read \"index.json\"");
    return 0;
}

struct manifest_fetch {
    struct manifest *manifest;
    char *digest;
    bool is_done;
    struct error err;
};

static void take_manifest(void *data, const struct buffer *bytes, const char *media_type,
                          const char *digest, const struct error *err)
{
    struct manifest_fetch *fetched = data;

    fetched->is_done = true;
    fetched->err = *err;
    if (err->kind != ERROR_NONE)
        return;
    if (manifest_parse(bytes->data ? bytes->data : "", bytes->size, media_type, fetched->manifest,
                       &fetched->err) < 0)
        (void)error_wrap(&fetched->err, "manifest %s", digest);
    else
        fetched->digest = xstrdup(digest);
}

static int read_from_registry(const struct blobs *blobs, const char *object,
                              struct manifest *ret_manifest, char **ret_digest, struct error *err)
{
    struct registry_place place = place_of(blobs);
    struct manifest_fetch fetched = {.manifest = ret_manifest};
    struct registry_call *call = NULL;

    if (registry_get_manifest(blobs->registry, &place, object, take_manifest, &fetched, &call,
                              err) < 0)
        return -1;
    if (await_call(blobs, &fetched.is_done, call, err) < 0) {
        free(fetched.digest);
        return -1;
    }
    if (fetched.err.kind != ERROR_NONE) {
        *err = fetched.err;
        return -1;
    }
    *ret_digest = fetched.digest;
    return 0;
}

static int read_listed(struct blobs *blobs, const struct content *content,
                       struct manifest *ret_manifest, struct error *err)
{
    cleanup_json json_t *document = NULL;
    cleanup_free char *digest = NULL;

    if (!blobs->layout)
        return read_from_registry(blobs, content->digest, ret_manifest, &digest, err);
    if (blobs_read_document(blobs, content, &document, err) < 0)
        return -1;
    if (manifest_from_doc(document, content->media_type, ret_manifest, err) < 0)
        return error_wrap(err, "manifest %s", content->digest);
    return 0;
}

int blobs_read_manifest(struct blobs *blobs, const char *tag, struct manifest *ret_manifest,
                        char **ret_digest, struct error *err)
{
    cleanup_manifest struct manifest manifest = {0};
    cleanup_free char *digest = NULL;

    if ((blobs->layout ? read_layout_index(blobs, &manifest, err)
                       : read_from_registry(blobs, reference_object(blobs->reference), &manifest,
                                            &digest, err)) < 0)
        return -1;
    for (int depth = 0; manifest.is_index; depth++) {
        cleanup_manifest struct manifest next = {0};
        const struct content *chosen = NULL;
        struct manifest index = manifest;

        if (depth == INDEX_DEPTH_MAX)
            return error_set(err, ERROR_INVALID,
                             "image indexes are nested more than %d levels deep", INDEX_DEPTH_MAX);
        if (image_index_choose(&index, depth == 0 && blobs->layout ? tag : NULL, &chosen, err) <
                0 ||
            read_listed(blobs, chosen, &next, err) < 0)
            return -1;
        free(digest);
        digest = xstrdup(chosen->digest);
        manifest = next;
        next = index;
    }
    if (manifest.entry_count == 0)
        return error_set(err, ERROR_INVALID, "not an image: its manifest lists no layers");
    *ret_manifest = manifest;
    manifest = (struct manifest){0};
    *ret_digest = steal(&digest);
    return 0;
}
