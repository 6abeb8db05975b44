/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/file_repository.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/archive/unpack.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/component/component_artifact.h"
#include "common/component/component_name.h"
#include "common/component/directory.h"
#include "common/component/yamlfs.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/oci/registry.h"

#define DESCRIPTOR_FILE "component-descriptor.yaml"
#define INDEX_FILE "artifact-index.json"

enum { INDEX_MAX_BYTES = 4 * 1024 * 1024 };

static const struct archive_limits TRANSPORT_LIMITS = {
    .bytes_max = (uint64_t)1 << 30,
    .file_max = (uint64_t)1 << 29,
    .entries_max = 10000,
    .depth_max = 16,
    .ratio_max = 200,
};

int file_repository_open(struct repository *repository, int workspace_fd, const char *name,
                         struct error *err)
{
    cleanup_close int fd = open(repository->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    cleanup_close int unpacked = -1;
    const struct unpack_options options = {.policy = UNPACK_BLUEPRINT, .limits = &TRANSPORT_LIMITS};
    struct unpack_counts counts = {0};
    struct stat status;

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &status) < 0)
        return error_set_errno(err, errno, "open repository \"%s\"", repository->path);
    if (S_ISDIR(status.st_mode)) {
        repository->directory_fd = steal_fd(&fd);
        return 0;
    }
    if (!S_ISREG(status.st_mode) || repository->kind == REPOSITORY_DIRECTORY)
        return error_set(err, ERROR_INVALID, "repository \"%s\" is not a directory",
                         repository->path);
    unpacked = beneath_make_directories(workspace_fd, name, err);
    if (unpacked < 0)
        return -1;
    if (unpack_fd(unpacked, &options, fd, &counts, err) < 0)
        return error_wrap(err, "repository \"%s\"", repository->path);
    repository->directory_fd = steal_fd(&unpacked);
    return 0;
}

static int read_file(int directory_fd, const char *path, size_t max, struct buffer *ret_bytes,
                     struct error *err)
{
    struct stat status;
    cleanup_close int fd = beneath_open_file(directory_fd, path, &status, err);

    buffer_init(ret_bytes, max);
    return fd < 0 ? -1 : file_read_all(fd, path, ret_bytes, err);
}

static bool is_wanted(const struct descriptor *descriptor, const char *name, const char *version)
{
    struct error ignored = {0};

    return descriptor_check_identity(descriptor, name, version, &ignored) == 0;
}

static int not_found(const struct repository *repository, const char *name, const char *version,
                     struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "component \"%s:%s\" not found in \"%s\"", name, version,
                     repository->text);
}

/* ---- component archive: a directory with one descriptor ---- */

static int find_in_archive(const struct repository *repository, const char *name,
                           const char *version, struct descriptor **ret_descriptor,
                           struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_descriptor struct descriptor *descriptor = NULL;

    if (read_file(repository->directory_fd, DESCRIPTOR_FILE, DESCRIPTOR_MAX_BYTES, &bytes, err) < 0)
        return -1;
    if (descriptor_parse(bytes.data ? bytes.data : "", bytes.size, &descriptor, err) < 0)
        return -1;
    if (!is_wanted(descriptor, name, version))
        return not_found(repository, name, version, err);
    *ret_descriptor = steal(&descriptor);
    return 0;
}

/* ---- directory: every file is a descriptor ---- */

struct search {
    const struct repository *repository;
    const char *name, *version;
    struct descriptor *found; /* the first that matches */
};

static int search_file(void *data, const char *file, const struct stat *status, struct error *err)
{
    struct search *search = data;
    cleanup_buffer struct buffer bytes = {0};
    cleanup_descriptor struct descriptor *descriptor = NULL;

    if (!S_ISREG(status->st_mode))
        return 0;
    if (read_file(search->repository->directory_fd, file, DESCRIPTOR_MAX_BYTES, &bytes, err) < 0 ||
        descriptor_parse(bytes.data ? bytes.data : "", bytes.size, &descriptor, err) < 0)
        return error_wrap(err, "file \"%s\"", file);
    if (!search->found && is_wanted(descriptor, search->name, search->version))
        search->found = steal(&descriptor);
    return 0;
}

/* Reads all files, also after a match: an invalid one makes the repository unusable, as in Go. */
static int find_in_directory(const struct repository *repository, const char *name,
                             const char *version, struct descriptor **ret_descriptor,
                             struct error *err)
{
    struct search search = {.repository = repository, .name = name, .version = version};

    if (directory_read(repository->directory_fd, repository->path, search_file, &search, err) < 0) {
        descriptor_free(search.found);
        return -1;
    }
    if (!search.found)
        return not_found(repository, name, version, err);
    *ret_descriptor = search.found;
    return 0;
}

/* ---- inline repository: such a directory as a document ---- */

static int find_in_tree(const struct repository *repository, const char *name, const char *version,
                        struct descriptor **ret_descriptor, struct error *err)
{
    const json_t *directory = NULL;
    const char *file = NULL;
    json_t *node = NULL;

    if (yamlfs_find(repository->tree, repository->descriptor_dir, &directory, err) < 0)
        return error_wrap(err, "%s", repository->text);
    if (!yamlfs_is_directory(directory))
        return not_found(repository, name, version, err);
    doc_foreach(yamlfs_entries(directory), file, node)
    {
        cleanup_buffer struct buffer bytes = {0};
        cleanup_descriptor struct descriptor *descriptor = NULL;

        if (yamlfs_is_directory(node))
            continue;
        buffer_init(&bytes, DESCRIPTOR_MAX_BYTES);
        if (yamlfs_read(node, &bytes, err) < 0 ||
            descriptor_parse(bytes.data ? bytes.data : "", bytes.size, &descriptor, err) < 0)
            return error_wrap(err, "%s: file \"%.200s\"", repository->text, file);
        if (is_wanted(descriptor, name, version)) {
            *ret_descriptor = steal(&descriptor);
            return 0;
        }
    }
    return not_found(repository, name, version, err);
}

/* ---- transport archive: the content of a registry as files ---- */

/* The path of a blob by digest ("sha256:<hex>") or file name ("sha256.<hex>"). */
static int blob_path(const char *reference, char **ret_path, struct error *err)
{
    cleanup_free char *name = xstrdup(reference);
    char *colon = strchr(name, ':');

    if (colon)
        *colon = '.';
    if (!*name || *name == '.' || strchr(name, '/'))
        return error_set(err, ERROR_INVALID, "invalid blob name \"%.200s\"", reference);
    *ret_path = xasprintf("blobs/%s", name);
    return 0;
}

/* Checks a blob against the digest in its name, if the name is one. */
static int verify_blob(int fd, const char *reference, struct error *err)
{
    cleanup_free char *text = xstrdup(reference);
    char *separator = strpbrk(text, ".:");
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;
    struct error ignored = {0};

    if (separator)
        *separator = ':';
    if (digest_parse(text, &algorithm, &hex, &ignored) < 0)
        return 0;
    return digest_check_file(fd, reference, text, err);
}

static int read_blob(const struct repository *repository, const char *digest, size_t max,
                     struct buffer *ret_bytes, struct error *err)
{
    cleanup_digest struct digest *hash = NULL;
    cleanup_free char *path = NULL;
    enum digest_algorithm algorithm = DIGEST_SHA256;
    const char *hex = NULL;

    if (digest_parse(digest, &algorithm, &hex, err) < 0 || blob_path(digest, &path, err) < 0 ||
        read_file(repository->directory_fd, path, max, ret_bytes, err) < 0)
        return -1;
    hash = digest_new(algorithm);
    digest_update(hash, ret_bytes->data ? ret_bytes->data : "", ret_bytes->size);
    if (!digest_matches(hash, digest))
        return error_set(err, ERROR_INVALID, "content of blob \"%s\" does not match its digest",
                         digest);
    return 0;
}

static int find_artifact(const struct repository *repository, const char *path, const char *tag,
                         char **ret_digest, struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_json json_t *index = NULL;
    const json_t *artifacts = NULL;

    if (read_file(repository->directory_fd, INDEX_FILE, INDEX_MAX_BYTES, &bytes, err) < 0 ||
        doc_parse_json(bytes.data ? bytes.data : "", bytes.size, INDEX_MAX_BYTES, &index, err) < 0)
        return error_wrap(err, "repository \"%s\"", repository->path);
    artifacts = doc_member(index, "artifacts");
    if (!artifacts)
        artifacts = doc_member(index, "index");
    for (size_t i = 0; i < json_array_size(artifacts); i++) {
        const json_t *artifact = json_array_get(artifacts, i);
        const char *digest = doc_text(artifact, "digest");

        if (digest && strcmp(doc_text_or(artifact, "repository", ""), path) == 0 &&
            strcmp(doc_text_or(artifact, "tag", ""), tag) == 0) {
            *ret_digest = xstrdup(digest);
            return 0;
        }
    }
    return error_set(err, ERROR_NOT_FOUND, "\"%s:%s\" not found in \"%s\"", path, tag,
                     repository->path);
}

static int read_layers(const struct repository *repository, const struct manifest *manifest,
                       struct descriptor **ret_descriptor, struct error *err)
{
    cleanup_buffer struct buffer config = {0};
    cleanup_buffer struct buffer bytes = {0};
    cleanup_component_artifact_layer struct component_artifact_layer layer = {0};

    if (component_artifact_check_manifest(manifest, err) < 0 ||
        read_blob(repository, manifest->config.digest, COMPONENT_CONFIG_MAX_BYTES, &config, err) <
            0 ||
        component_artifact_read_config(config.data ? config.data : "", config.size, &layer, err) <
            0 ||
        read_blob(repository, layer.digest, DESCRIPTOR_MAX_BYTES, &bytes, err) < 0)
        return -1;
    return component_artifact_take_layer(&bytes, layer.media_type, ret_descriptor, err);
}

static int find_in_transport(const struct repository *repository, const char *name,
                             const char *version, struct descriptor **ret_descriptor,
                             struct manifest *ret_manifest, struct error *err)
{
    cleanup_free char *path = repository_component_path(repository, name);
    cleanup_free char *tag = version_tag(version);
    cleanup_free char *digest = NULL;
    cleanup_buffer struct buffer bytes = {0};
    cleanup_manifest struct manifest manifest = {0};
    cleanup_descriptor struct descriptor *descriptor = NULL;

    if (find_artifact(repository, path, tag, &digest, err) < 0)
        return -1;
    if (read_blob(repository, digest, REGISTRY_MANIFEST_MAX, &bytes, err) < 0 ||
        manifest_parse(bytes.data ? bytes.data : "", bytes.size, NULL, &manifest, err) < 0 ||
        read_layers(repository, &manifest, &descriptor, err) < 0 ||
        descriptor_check_identity(descriptor, name, version, err) < 0) {
        /* The index lists it, so the archive is damaged: do not look in other repositories. */
        if (err->kind == ERROR_NOT_FOUND)
            err->kind = ERROR_INVALID;
        return error_wrap(err, "repository \"%s\"", repository->path);
    }
    *ret_descriptor = steal(&descriptor);
    *ret_manifest = manifest;
    manifest = (struct manifest){0};
    return 0;
}

/* ---- the interface ---- */

int file_repository_find_descriptor(const struct repository *repository, const char *component_name,
                                    const char *version, struct descriptor **ret_descriptor,
                                    struct manifest *ret_manifest, struct error *err)
{
    if (repository->kind == REPOSITORY_INLINE)
        return find_in_tree(repository, component_name, version, ret_descriptor, err);
    if (repository->directory_fd < 0)
        return not_found(repository, component_name, version, err);
    if (repository->kind == REPOSITORY_ARCHIVE)
        return find_in_archive(repository, component_name, version, ret_descriptor, err);
    if (repository->kind == REPOSITORY_DIRECTORY)
        return find_in_directory(repository, component_name, version, ret_descriptor, err);
    return find_in_transport(repository, component_name, version, ret_descriptor, ret_manifest,
                             err);
}

int file_repository_open_blob(const struct repository *repository, const char *reference,
                              bool *ret_is_directory, struct error *err)
{
    cleanup_close int fd = -1;
    cleanup_free char *path = NULL;
    struct stat status;

    if (repository->directory_fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "blob \"%.200s\" not found", reference);
    if (blob_path(reference, &path, err) < 0)
        return -1;
    fd = beneath_open_directory(repository->directory_fd, path, err);
    if (fd >= 0) {
        *ret_is_directory = true;
        return steal_fd(&fd);
    }
    fd = beneath_open_file(repository->directory_fd, path, &status, err);
    if (fd < 0)
        return -1;
    if (verify_blob(fd, reference, err) < 0)
        return -1;
    *ret_is_directory = false;
    return steal_fd(&fd);
}

int file_repository_find_node(const struct repository *repository, const char *reference,
                              const json_t **ret_node, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/%s", repository->blob_dir, reference);

    if (strchr(reference, '/'))
        return error_set(err, ERROR_INVALID, "invalid blob name \"%.200s\"", reference);
    return yamlfs_find(repository->blob_tree, path, ret_node, err);
}
