/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/repository.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/component/typed.h"
#include "common/component/yamlfs.h"
#include "common/data/digest.h"
#include "common/data/doc.h"

static const char *const type_registry[] = {"ociRegistry", "OCIRegistry",   "oci",
                                            "OCI",         "OCIRepository", NULL};
static const char *const type_transport[] = {"CommonTransportFormat", "ctf", "CTF", NULL};
static const char *const type_archive[] = {"ComponentArchive", "componentArchive", "ca", "CA",
                                           NULL};
static const char *const type_local[] = {"local", NULL};
static const char *const type_inline[] = {"inline", NULL};

static char *without_slashes(const char *text, size_t length)
{
    while (length > 0 && *text == '/') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == '/')
        length--;
    return xstrndup(text, length);
}

static int parse_registry(struct repository *repository, const json_t *spec, struct error *err)
{
    const char *url = typed_text(spec, "baseUrl");
    const char *sub_path = typed_text(spec, "subPath");
    const char *mapping = typed_text(spec, "componentNameMapping");
    const char *scheme = url ? strstr(url, "://") : NULL;
    const char *rest = scheme ? scheme + 3 : url;
    cleanup_free char *from_url = NULL;
    cleanup_free char *from_spec = NULL;
    size_t host = 0;

    if (!url)
        return error_set(err, ERROR_INVALID, "repository context: baseUrl: missing");
    if (scheme && strncmp(url, "https://", 8) != 0 && strncmp(url, "oci://", 6) != 0 &&
        strncmp(url, "http://", 7) != 0)
        return error_set(err, ERROR_INVALID,
                         "repository context: baseUrl: unknown scheme in \"%.200s\"; expected "
                         "\"https\", \"http\" or \"oci\"",
                         url);
    repository->is_plain_http = strncmp(url, "http://", 7) == 0;
    host = strcspn(rest, "/");
    if (host == 0 || memchr(rest, '@', host))
        return error_set(err, ERROR_INVALID,
                         "repository context: baseUrl: expected host[:port][/path]");
    from_url = without_slashes(rest + host, strlen(rest + host));
    from_spec = sub_path ? without_slashes(sub_path, strlen(sub_path)) : xstrdup("");
    if (*from_spec && *from_url && scheme)
        return error_set(
            err, ERROR_INVALID,
            "repository context: baseUrl \"%.200s\" has a path and subPath is set; put "
            "the whole path into one of them",
            url);
    repository->host = xstrndup(rest, host);
    repository->sub_path =
        xasprintf("%s%s%s", from_url, *from_url && *from_spec ? "/" : "", from_spec);
    if (mapping && strcmp(mapping, "sha256-digest") == 0)
        repository->is_hashed = true;
    else if (mapping && strcmp(mapping, "urlPath") != 0)
        return error_set(err, ERROR_INVALID,
                         "repository context: componentNameMapping: unknown value \"%.100s\"; "
                         "expected \"urlPath\" or \"sha256-digest\"",
                         mapping);
    repository->text = xasprintf("%s%s%s", repository->host, *repository->sub_path ? "/" : "",
                                 repository->sub_path);
    return 0;
}

static int parse_files(struct repository *repository, enum repository_kind kind, const json_t *spec,
                       struct error *err)
{
    const char *path = typed_text(spec, "filePath");
    const char *sub_path = typed_text(spec, "subPath");

    if (!path)
        return error_set(err, ERROR_INVALID, "repository context: filePath: missing");
    repository->kind = kind;
    repository->path = xstrdup(path);
    repository->text = xstrdup(path);
    repository->sub_path = sub_path ? without_slashes(sub_path, strlen(sub_path)) : xstrdup("");
    return 0;
}

static int parse_inline(struct repository *repository, const json_t *spec, struct error *err)
{
    const json_t *blobs = typed_member(spec, "blobFs");
    const char *mode = typed_text(spec, "blobFsMode");
    const char *descriptor_dir = typed_text(spec, "compDescDirPath");
    const char *blob_dir = typed_text(spec, "blobDirPath");

    repository->kind = REPOSITORY_INLINE;
    repository->text = xstrdup("inline repository");
    if (yamlfs_open(typed_member(spec, "fileSystem"), &repository->tree, err) < 0)
        return error_wrap(err, "repository context: fileSystem");
    if (blobs && !json_is_null(blobs)) {
        if (yamlfs_open(blobs, &repository->blob_tree, err) < 0)
            return error_wrap(err, "repository context: blobFs");
    } else if (!mode || strcmp(mode, "filesystem") == 0) {
        repository->blob_tree = json_incref(repository->tree);
    } else {
        repository->blob_tree = json_object();
    }
    repository->descriptor_dir = xstrdup(descriptor_dir ? descriptor_dir : "/");
    repository->blob_dir = xstrdup(blob_dir ? blob_dir : "/");
    return 0;
}

int repository_parse(const json_t *spec, struct repository **ret_repository, struct error *err)
{
    cleanup_repository struct repository *repository = xcalloc(1, sizeof(*repository));
    const char *type = typed_text(spec, "type");
    int result = 0;

    repository->directory_fd = -1;
    if (!type)
        return error_set(err, ERROR_INVALID, "repository context: expected an object with a type");
    if (typed_is(spec, type_registry)) {
        result = parse_registry(repository, spec, err);
    } else if (typed_is(spec, type_transport)) {
        result = parse_files(repository, REPOSITORY_TRANSPORT, spec, err);
    } else if (typed_is(spec, type_archive)) {
        result = parse_files(repository, REPOSITORY_ARCHIVE, spec, err);
    } else if (typed_is(spec, type_local)) {
        result = parse_files(repository, REPOSITORY_DIRECTORY, spec, err);
    } else if (typed_is(spec, type_inline)) {
        result = parse_inline(repository, spec, err);
    } else {
        repository->kind = REPOSITORY_UNSUPPORTED;
        repository->text = xasprintf("repository type \"%.100s\"", type);
    }
    if (result < 0)
        return -1;
    *ret_repository = steal(&repository);
    return 0;
}

bool repository_type_is_known(const char *type)
{
    static const char *const *const lists[] = {type_registry, type_transport, type_archive,
                                               type_local, type_inline};
    cleanup_json json_t *spec = json_pack("{s:s}", "type", type);

    for (size_t i = 0; i < array_length(lists); i++) {
        if (typed_is(spec, lists[i]))
            return true;
    }
    return false;
}

struct repository *repository_new_descriptors(void)
{
    struct repository *repository = xcalloc(1, sizeof(*repository));

    repository->kind = REPOSITORY_DESCRIPTORS;
    repository->directory_fd = -1;
    repository->text = xstrdup("inline component descriptor");
    return repository;
}

void repository_take_descriptor(struct repository *repository, struct descriptor *descriptor)
{
    repository->descriptors = xreallocarray(
        repository->descriptors, repository->descriptor_count + 1, sizeof(struct descriptor *));
    repository->descriptors[repository->descriptor_count++] = descriptor;
}

void repository_free(struct repository *repository)
{
    if (!repository)
        return;
    for (size_t i = 0; i < repository->descriptor_count; i++)
        descriptor_free(repository->descriptors[i]);
    free(repository->descriptors);
    if (repository->directory_fd >= 0)
        (void)close(repository->directory_fd);
    json_decref(repository->tree);
    json_decref(repository->blob_tree);
    free(repository->text);
    free(repository->host);
    free(repository->sub_path);
    free(repository->path);
    free(repository->descriptor_dir);
    free(repository->blob_dir);
    free(repository);
}

char *repository_component_path(const struct repository *repository, const char *component_name)
{
    const char *slash = *repository->sub_path ? "/" : "";
    char hex[DIGEST_HEX_MAX] = "";

    if (!repository->is_hashed)
        return xasprintf("%s%scomponent-descriptors/%s", repository->sub_path, slash,
                         component_name);
    digest_sha256_hex(component_name, strlen(component_name), hex);
    return xasprintf("%s%s%s", repository->sub_path, slash, hex);
}
