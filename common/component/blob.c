/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/component/file_repository.h"
#include "common/component/scratch_file.h"
#include "common/component/yamlfs.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

#define DIRECTORY_SET "artifact-set"

enum { INDEX_MAX_BYTES = 4 * 1024 * 1024 };

void blob_done(struct blob *blob)
{
    if (blob->fd >= 0)
        (void)close(blob->fd);
    blob->fd = -1;
}

/* ---- downloading ---- */

struct download {
    const struct blob_env *env;
    int fd;
    off_t chunk_start;
    uint64_t bytes, total;
    bool is_done;
    struct error err;
};

static int write_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    struct download *download = data;

    if (file_write_all(download->fd, "blob on the shared volume", bytes, size, err) < 0)
        return -1;
    download->bytes += size;
    if (download->env->on_progress)
        download->env->on_progress(download->env->data, download->bytes, download->total);
    return 0;
}

static void start_over(void *data)
{
    struct download *download = data;

    /* A failure here leads to a digest mismatch in the end. */
    if (ftruncate(download->fd, download->chunk_start) == 0 &&
        lseek(download->fd, download->chunk_start, SEEK_SET) >= 0)
        download->bytes = (uint64_t)download->chunk_start;
}

static void on_done(void *data, const struct error *err)
{
    struct download *download = data;

    download->is_done = true;
    download->err = *err;
}

static int download_chunk(struct download *download, struct registry *registry,
                          const struct registry_place *place, const char *digest, int64_t size,
                          struct error *err)
{
    struct registry_blob blob = {.digest = digest,
                                 .size = size,
                                 .max_bytes = BLOB_MAX_BYTES - download->bytes,
                                 .on_bytes = write_bytes,
                                 .on_restart = start_over,
                                 .on_done = on_done,
                                 .data = download};
    struct registry_call *call = NULL;

    download->chunk_start = (off_t)download->bytes;
    download->total = size >= 0 ? download->bytes + (uint64_t)size : 0;
    download->is_done = false;
    if (registry_get_blob(registry, place, &blob, &call, err) < 0)
        return -1;
    while (!download->is_done) {
        if (loop_run_once(download->env->loop, -1, err) < 0) {
            registry_cancel(call);
            return -1;
        }
    }
    if (download->err.kind != ERROR_NONE) {
        *err = download->err;
        return -1;
    }
    return 0;
}

static int finish_packed(int *fd, const struct access *access, struct blob *ret_blob,
                         struct error *err)
{
    struct stat status;

    if (access->blob_digest && digest_check_file(*fd, "blob", access->blob_digest, err) < 0)
        return error_wrap(err, "resource digest of the component descriptor");
    if (lseek(*fd, 0, SEEK_SET) < 0 || fstat(*fd, &status) < 0)
        return error_set_errno(err, errno, "read a blob");
    *ret_blob =
        (struct blob){.form = BLOB_PACKED, .fd = steal_fd(fd), .bytes = (uint64_t)status.st_size};
    return 0;
}

static int download_blobs(const struct blob_env *env, struct registry *registry,
                          const struct registry_place *place, const struct access *access,
                          const struct manifest *manifest, struct blob *ret_blob, struct error *err)
{
    cleanup_close int fd = scratch_file_open(env->workspace_fd, err);
    struct download download = {.env = env, .fd = fd};

    if (fd < 0)
        return -1;
    for (size_t i = 0; i < access->reference_count; i++) {
        const struct content *content =
            manifest ? manifest_find(manifest, access->references[i]) : NULL;
        int64_t size = content ? content->size : access->size;

        if (download_chunk(&download, registry, place, access->references[i], size, err) < 0)
            return -1;
    }
    return finish_packed(&fd, access, ret_blob, err);
}

/* ---- a separate artifact ---- */

static int fetch_artifact(const struct blob_env *env, const struct access *access,
                          const struct registry_place *place, struct registry *registry,
                          struct blob *ret_blob, struct error *err)
{
    cleanup_json json_t *doc = NULL;
    cleanup_free char *media_type = NULL;
    cleanup_free char *digest = NULL;
    cleanup_manifest struct manifest manifest = {0};
    const struct content *layer = NULL;
    struct access only_layer = {.size = -1};

    if (registry_read_manifest(registry, place, access->object, &doc, &media_type, &digest, err) <
        0)
        return -1;
    if (access->artifact_digest && strcmp(access->artifact_digest, digest) != 0)
        return error_set(err, ERROR_INVALID,
                         "artifact \"%s/%s:%s\" has the digest %s, but the component descriptor "
                         "requires %s",
                         place->host, place->repository, access->object, digest,
                         access->artifact_digest);
    if (manifest_from_doc(doc, media_type, &manifest, err) < 0 ||
        access_pick_layer(access->content, &manifest, &layer, err) < 0)
        return error_wrap(err, "artifact \"%s/%s:%s\"", place->host, place->repository,
                          access->object);
    only_layer.references = (char *[]){layer->digest};
    only_layer.reference_count = 1;
    return download_blobs(env, registry, place, &only_layer, &manifest, ret_blob, err);
}

/* ---- an artifact set: a blob that is an archive of an artifact ---- */

static int main_digest(int set_fd, char **ret_digest, struct error *err)
{
    struct stat status;
    cleanup_close int fd = beneath_open_file(set_fd, "index.json", &status, err);
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *index = NULL;
    const char *digest = NULL;

    buffer_init(&bytes, INDEX_MAX_BYTES);
    if (fd < 0)
        fd = beneath_open_file(set_fd, "artifact-descriptor.json", &status, err);
    if (fd < 0 || file_read_all(fd, "index", &bytes, err) < 0 ||
        doc_parse_json(bytes.data ? bytes.data : "", bytes.size, INDEX_MAX_BYTES, &index, err) < 0)
        return -1;
    digest = json_string_value(doc_member(doc_member(index, "annotations"), "software.ocm/main"));
    if (!digest)
        digest = doc_text(json_array_get(doc_member(index, "manifests"), 0), "digest");
    if (!digest)
        return error_set(err, ERROR_INVALID, "index lists no manifest");
    *ret_digest = xstrdup(digest);
    return 0;
}

static int open_set_layer(const struct repository *set, enum access_content content, int *ret_fd,
                          struct error *err)
{
    cleanup_free char *digest = NULL;
    cleanup_buffer struct buffer bytes = {0};
    cleanup_manifest struct manifest manifest = {0};
    cleanup_close int fd = -1;
    const struct content *layer = NULL;
    bool is_directory = false;

    buffer_init(&bytes, REGISTRY_MANIFEST_MAX);
    if (main_digest(set->directory_fd, &digest, err) < 0)
        return -1;
    fd = file_repository_open_blob(set, digest, &is_directory, err);
    if (fd < 0 || file_read_all(fd, "manifest", &bytes, err) < 0 ||
        manifest_parse(bytes.data ? bytes.data : "", bytes.size, NULL, &manifest, err) < 0 ||
        access_pick_layer(content, &manifest, &layer, err) < 0)
        return -1;
    *ret_fd = file_repository_open_blob(set, layer->digest, &is_directory, err);
    return *ret_fd < 0 ? -1 : 0;
}

static int open_artifact_set(const struct blob_env *env, enum access_content content,
                             struct blob *blob, struct error *err)
{
    static const struct unpack_options options = {.policy = UNPACK_BLUEPRINT,
                                                  .limits = &ARCHIVE_LIMITS_BLUEPRINT};
    cleanup_close int set_fd = beneath_make_directories(env->workspace_fd, DIRECTORY_SET, err);
    struct unpack_counts counts = {0};
    struct repository set = {.kind = REPOSITORY_TRANSPORT, .directory_fd = set_fd};
    int layer_fd = -1;

    if (set_fd < 0)
        return -1;
    if (unpack_fd(set_fd, &options, blob->fd, &counts, err) < 0 ||
        open_set_layer(&set, content, &layer_fd, err) < 0)
        return error_wrap(err, "artifact set");
    (void)close(blob->fd);
    blob->fd = layer_fd;
    return 0;
}

/* ---- a local blob of the component ---- */

static int open_in_files(const struct access *access, const struct repository *repository,
                         struct blob *ret_blob, struct error *err)
{
    cleanup_close int fd = -1;
    bool is_directory = false;

    if (access->reference_count != 1)
        return error_set(err, ERROR_INVALID, "a blob in several chunks is not supported in \"%s\"",
                         repository->text);
    fd = file_repository_open_blob(repository, access->references[0], &is_directory, err);
    if (fd < 0)
        return -1;
    if (!is_directory)
        return finish_packed(&fd, access, ret_blob, err);
    *ret_blob = (struct blob){.form = BLOB_DIRECTORY, .fd = steal_fd(&fd)};
    return 0;
}

static int open_in_tree(const struct blob_env *env, const struct access *access,
                        const struct repository *repository, struct blob *ret_blob,
                        struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_close int fd = -1;
    const json_t *node = NULL;
    struct download download = {.env = env};

    if (access->reference_count != 1)
        return error_set(err, ERROR_INVALID, "a blob in several chunks is not supported in an %s",
                         repository->text);
    if (file_repository_find_node(repository, access->references[0], &node, err) < 0)
        return error_wrap(err, "blob of the %s", repository->text);
    if (yamlfs_is_directory(node)) {
        *ret_blob = (struct blob){.form = BLOB_TREE, .fd = -1, .node = node};
        return 0;
    }
    buffer_init(&bytes, YAMLFS_FILE_MAX_BYTES);
    fd = scratch_file_open(env->workspace_fd, err);
    download.fd = fd;
    if (fd < 0 || yamlfs_read(node, &bytes, err) < 0 ||
        write_bytes(&download, bytes.data ? bytes.data : "", bytes.size, err) < 0)
        return -1;
    return finish_packed(&fd, access, ret_blob, err);
}

static int fetch_local(const struct blob_env *env, const struct access *access,
                       const struct resolved_root *root, struct blob *ret_blob, struct error *err)
{
    const struct repository *repository = root->repository;
    cleanup_free char *path = NULL;
    struct registry_place place = {0};

    switch (repository->kind) {
    case REPOSITORY_REGISTRY:
        path = repository_component_path(repository, root->component_name);
        place = (struct registry_place){.host = repository->host,
                                        .repository = path,
                                        .is_plain_http = repository->is_plain_http};
        return download_blobs(env, env->components, &place, access, root->manifest, ret_blob, err);
    case REPOSITORY_TRANSPORT:
    case REPOSITORY_ARCHIVE:
    case REPOSITORY_DIRECTORY:
        return open_in_files(access, repository, ret_blob, err);
    case REPOSITORY_INLINE:
        return open_in_tree(env, access, repository, ret_blob, err);
    case REPOSITORY_DESCRIPTORS:
    case REPOSITORY_UNSUPPORTED:
        break;
    }
    return error_set(
        err, ERROR_NOT_FOUND,
        "an inline component descriptor has no local blobs; use access type ociArtifact");
}

/* ---- the interface ---- */

static int check_type(const struct access *access, const struct resolved_root *root,
                      struct error *err)
{
    const struct content *content = NULL;

    if (access->kind == ACCESS_LOCAL_OCI_BLOB) {
        content = manifest_find(root->manifest, access->references[0]);
        return access_check_blob_type(access->content, content ? content->media_type : "", err);
    }
    return access_is_artifact_set(access->media_type)
               ? 0
               : access_check_blob_type(access->content, access->media_type, err);
}

int blob_fetch(const struct blob_env *env, const struct access *access,
               const struct resolved_root *root, struct blob *ret_blob, struct error *err)
{
    struct registry_place place = {.host = access->host,
                                   .repository = access->repository,
                                   .is_plain_http = access->is_plain_http};
    struct blob blob = {.fd = -1};
    int result = 0;

    switch (access->kind) {
    case ACCESS_ARTIFACT:
        return fetch_artifact(env, access, &place, env->artifacts, ret_blob, err);
    case ACCESS_RELATIVE:
        if (root->repository->kind != REPOSITORY_REGISTRY)
            return error_set(err, ERROR_INVALID,
                             "access type relativeOciReference requires a component in a registry");
        place.host = root->repository->host;
        place.is_plain_http = root->repository->is_plain_http;
        return fetch_artifact(env, access, &place, env->components, ret_blob, err);
    case ACCESS_CHART_REPOSITORY:
        return error_set(err, ERROR_INTERNAL, "a chart repository has no blobs");
    case ACCESS_BLOB:
        if (check_type(access, root, err) < 0)
            return -1;
        result = download_blobs(env, env->artifacts, &place, access, NULL, &blob, err);
        break;
    case ACCESS_LOCAL_BLOB:
    case ACCESS_LOCAL_OCI_BLOB:
        if (check_type(access, root, err) < 0)
            return -1;
        result = fetch_local(env, access, root, &blob, err);
        break;
    }
    if (result < 0)
        return -1;
    if (access_is_artifact_set(access->media_type) && blob.form == BLOB_PACKED &&
        open_artifact_set(env, access->content, &blob, err) < 0) {
        blob_done(&blob);
        return -1;
    }
    *ret_blob = blob;
    return 0;
}
