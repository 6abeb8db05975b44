/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/data/reference.h"
#include "common/net/http.h"
#include "common/oci/registry.h"

enum { DOCUMENT_MAX = 4 * 1024 * 1024, COPY_BYTES = 65536 };
static const uint64_t LAYER_MAX = (uint64_t)16 << 30;

struct blobs {
    const struct image_request *request;
    char *layout; /* directory, or NULL: a registry */
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
        .is_plain_http_allowed = request->is_plain_http_allowed,
        .is_insecure = request->is_insecure,
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
                                   .is_plain_http = blobs->request->is_plain_http_allowed};
}

/* ---- Layout directories. ---- */

static int verify_file(int fd, const struct layout_blob *blob, struct error *err)
{
    enum digest_algorithm algorithm = DIGEST_SHA256;
    cleanup_digest struct digest *digest = NULL;
    cleanup_free char *bytes = xmalloc(COPY_BYTES);
    const char *hex = NULL;
    ssize_t size = 0;

    if (digest_parse(blob->digest, &algorithm, &hex, err) < 0)
        return -1;
    digest = digest_new(algorithm);
    while ((size = read(fd, bytes, COPY_BYTES)) > 0)
        digest_update(digest, bytes, (size_t)size);
    if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "read blob '%s'", blob->digest);
    if (!digest_matches(digest, blob->digest))
        return error_set(err, ERROR_INVALID, "blob '%s' has other bytes than its digest says",
                         blob->digest);
    return 0;
}

static int open_in_layout(const struct blobs *blobs, const struct layout_blob *blob,
                          struct error *err)
{
    cleanup_free char *path = xasprintf("%s/blobs/%s", blobs->layout, blob->digest);
    char *colon = strrchr(path, ':');
    cleanup_close int fd = -1;
    struct stat info = {0};

    if (colon)
        *colon = '/';
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, errno, "open '%s'", path);
    if (!S_ISREG(info.st_mode) || (blob->size >= 0 && info.st_size != blob->size))
        return error_set(err, ERROR_INVALID,
                         "blob '%s' is not the file that its manifest describes", blob->digest);
    if (verify_file(fd, blob, err) < 0)
        return -1;
    return steal_fd(&fd);
}

/* ---- Registries, through the store. ---- */

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
    size_t at = 0;

    while (at < size) {
        ssize_t written = write(download->fd, bytes + at, size - at);

        if (written < 0 && errno != EINTR)
            return error_set_errno(err, errno, "write to the image cache");
        at += written > 0 ? (size_t)written : 0;
    }
    download->bytes += size;
    if (download->blobs->request->on_progress)
        download->blobs->request->on_progress(download->blobs->request->data, "downloading",
                                              download->bytes);
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

static int fetch(struct blobs *blobs, const struct layout_blob *blob, const char *file,
                 struct error *err)
{
    cleanup_close int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    struct download download = {.blobs = blobs, .fd = fd};
    struct registry_call *call = NULL;
    struct registry_place place = place_of(blobs);
    struct registry_blob wanted = {.digest = blob->digest,
                                   .size = blob->size,
                                   .max_bytes = LAYER_MAX,
                                   .on_bytes = write_bytes,
                                   .on_restart = start_over,
                                   .on_done = finish,
                                   .data = &download};

    if (fd < 0)
        return error_set_errno(err, errno, "create '%s'", file);
    if (registry_get_blob(blobs->registry, &place, &wanted, &call, err) < 0)
        return -1;
    while (!download.is_done) {
        if (loop_run_once(blobs->request->loop, -1, err) < 0) {
            registry_cancel(call);
            return -1;
        }
    }
    if (download.err.kind != ERROR_NONE) {
        *err = download.err;
        return -1;
    }
    return 0;
}

static int open_through_store(struct blobs *blobs, const struct layout_blob *blob,
                              struct error *err)
{
    cleanup_free char *directory = NULL;
    cleanup_free char *file = NULL;
    int fd = store_open_blob(blobs->request->store, blob->digest, err);

    if (fd >= 0 || err->kind != ERROR_NOT_FOUND)
        return fd;
    if (store_make_temporary(blobs->request->store, &directory, err) < 0)
        return -1;
    file = xasprintf("%s/blob", directory);
    if (fetch(blobs, blob, file, err) < 0 ||
        store_keep_blob(blobs->request->store, blob->digest, file, err) < 0)
        return -1;
    store_discard(blobs->request->store, directory);
    return store_open_blob(blobs->request->store, blob->digest, err);
}

/* ---- Both. ---- */

int blobs_open(struct blobs *blobs, const struct layout_blob *blob, struct error *err)
{
    return blobs->layout ? open_in_layout(blobs, blob, err) : open_through_store(blobs, blob, err);
}

int blobs_read_document(struct blobs *blobs, const struct layout_blob *blob, json_t **ret_document,
                        struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_close int fd = blobs_open(blobs, blob, err);
    char bytes[8192];
    ssize_t size = 0;

    if (fd < 0)
        return -1;
    buffer_init(&text, DOCUMENT_MAX);
    while ((size = read(fd, bytes, sizeof(bytes))) > 0) {
        if (buffer_append(&text, bytes, (size_t)size, err) < 0)
            return error_wrap(err, "blob '%s'", blob->digest);
    }
    if (size < 0)
        return error_set_errno(err, errno, "read blob '%s'", blob->digest);
    if (doc_parse_json(text.data ? text.data : "", text.size, DOCUMENT_MAX, ret_document, err) < 0)
        return error_wrap(err, "blob '%s'", blob->digest);
    return 0;
}

static int read_root(struct blobs *blobs, json_t **ret_document, char **ret_digest,
                     struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    cleanup_free char *path = NULL;
    cleanup_free char *media_type = NULL;
    struct registry_place place = {0};

    if (!blobs->layout) {
        place = place_of(blobs);
        return registry_read_manifest(blobs->registry, &place, reference_object(blobs->reference),
                                      ret_document, &media_type, ret_digest, err);
    }
    path = xasprintf("%s/index.json", blobs->layout);
    buffer_init(&text, DOCUMENT_MAX);
    if (doc_read_file(path, DOCUMENT_MAX, &text, err) < 0 ||
        doc_parse_json(text.data ? text.data : "", text.size, DOCUMENT_MAX, ret_document, err) < 0)
        return error_wrap(err, "read '%s'", path);
    return 0;
}

int blobs_read_manifest(struct blobs *blobs, const char *tag, json_t **ret_manifest,
                        char **ret_digest, struct error *err)
{
    cleanup_free char *digest = NULL;
    cleanup_json json_t *document = NULL;

    if (read_root(blobs, &document, &digest, err) < 0)
        return -1;
    /* A layout's index names an index of platforms, which names the manifest: two steps at most. */
    for (int step = 0; layout_is_index(document) && step < 3; step++) {
        struct registry_place place = {0};
        cleanup_free char *media_type = NULL;
        struct layout_blob blob = {0};
        json_t *next = NULL;
        int result = 0;

        if (layout_pick(document, step == 0 && blobs->layout ? tag : NULL, &blob, err) < 0)
            return -1;
        free(digest);
        digest = xstrdup(blob.digest);
        if (blobs->layout) {
            result = blobs_read_document(blobs, &blob, &next, err);
        } else {
            cleanup_free char *own = NULL;

            place = place_of(blobs);
            result = registry_read_manifest(blobs->registry, &place, digest, &next, &media_type,
                                            &own, err);
        }
        if (result < 0)
            return -1;
        json_decref(document);
        document = next;
    }
    if (!json_is_array(doc_get(document, "layers")))
        return error_set(err, ERROR_INVALID, "it is no image: its manifest names no layers");
    *ret_manifest = steal(&document);
    *ret_digest = steal(&digest);
    return 0;
}
