/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/archive/layer.h"
#include "common/base/memory.h"

static const struct {
    const char *prefix;
    enum source_kind kind;
} prefixes[] = {
    {"oci:", SOURCE_OCI},
    {"oci-archive:", SOURCE_OCI_ARCHIVE},
    {"docker-archive:", SOURCE_DOCKER_ARCHIVE},
    {"rootfs:", SOURCE_ROOTFS},
};

static bool is_path(const char *text)
{
    return text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0;
}

bool source_is_local(const char *text)
{
    if (is_path(text))
        return true;
    for (size_t i = 0; i < array_length(prefixes); i++) {
        if (strncmp(text, prefixes[i].prefix, strlen(prefixes[i].prefix)) == 0)
            return true;
    }
    return false;
}

static bool is_directory(const char *path)
{
    struct stat info = {0};

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_file(const char *directory, const char *name)
{
    cleanup_free char *path = xasprintf("%s/%s", directory, name);

    return access(path, F_OK) == 0;
}

/* Like error_set_errno(). A relative path is found nowhere else, so the message says where it was
 * searched. */
static int refuse_file(const char *text, const char *path, int os, struct error *err)
{
    cleanup_free char *directory = *path == '/' ? NULL : getcwd(NULL, 0);

    return error_set_errno(err, os, "image \"%s\": open \"%s\"%s%s%s", text, path,
                           directory ? " in the current directory \"" : "",
                           directory ? directory : "", directory ? "\"" : "");
}

static int detect_kind(const char *path, enum source_kind *ret_kind, struct error *err)
{
    if (is_directory(path)) {
        *ret_kind = has_file(path, "oci-layout") ? SOURCE_OCI : SOURCE_ROOTFS;
        return 0;
    }
    if (access(path, R_OK) < 0)
        return refuse_file(path, path, errno, err);
    if (layer_has_entry(path, "oci-layout")) {
        *ret_kind = SOURCE_OCI_ARCHIVE;
        return 0;
    }
    if (layer_has_entry(path, "manifest.json")) {
        *ret_kind = SOURCE_DOCKER_ARCHIVE;
        return 0;
    }
    return error_set(
        err, ERROR_INVALID,
        "image \"%s\" is neither a directory, nor an OCI archive, nor a docker archive", path);
}

/* A path may contain colons: the tag begins after the first colon that follows an existing path. */
static void split_tag(struct source *source, const char *text)
{
    const char *colon = text;

    if (access(text, F_OK) != 0) {
        while ((colon = strchr(colon, ':'))) {
            cleanup_free char *path = xstrndup(text, (size_t)(colon - text));

            if (access(path, F_OK) == 0) {
                source->path = steal(&path);
                source->tag = xstrdup(colon + 1);
                return;
            }
            colon++;
        }
    }
    source->path = xstrdup(text);
}

int source_parse(const char *text, struct source *ret_source, struct error *err)
{
    struct source source = {.kind = SOURCE_REGISTRY};

    if (is_path(text)) {
        if (detect_kind(text, &source.kind, err) < 0)
            return -1;
        source.path = xstrdup(text);
        *ret_source = source;
        return 0;
    }
    for (size_t i = 0; i < array_length(prefixes); i++) {
        size_t length = strlen(prefixes[i].prefix);

        if (strncmp(text, prefixes[i].prefix, length) != 0)
            continue;
        source.kind = prefixes[i].kind;
        if (source.kind == SOURCE_ROOTFS)
            source.path = xstrdup(text + length);
        else
            split_tag(&source, text + length);
        if (access(source.path, R_OK) < 0) {
            int result = refuse_file(text, source.path, errno, err);

            source_done(&source);
            return result;
        }
        *ret_source = source;
        return 0;
    }
    source.path = xstrdup(text);
    *ret_source = source;
    return 0;
}

int source_check_reference(const char *text, struct error *err)
{
    enum source_kind kind = SOURCE_ROOTFS;
    struct error ignored = {0};

    if (source_is_local(text) || access(text, R_OK) < 0 || detect_kind(text, &kind, &ignored) < 0 ||
        kind == SOURCE_ROOTFS)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "image \"%s\" is the name of a file in the current directory; write \"./%s\" "
                     "to use it, or \"docker.io/%s%s\" for the image of that name in a registry",
                     text, text, strchr(text, '/') ? "" : "library/", text);
}

char *source_identity(const char *text)
{
    struct source source = {0};
    struct error ignored = {0};
    const char *slash = strrchr(text, '/');
    char *identity = NULL;

    if (!source_is_local(text))
        return xstrndup(text, (size_t)((slash ? slash : text) - text) +
                                  strcspn(slash ? slash : text, ":@"));
    if (source_parse(text, &source, &ignored) == 0)
        identity = realpath(source.path, NULL);
    source_done(&source);
    return identity ? identity : xstrdup(text);
}

void source_done(struct source *source)
{
    free(source->path);
    free(source->tag);
    *source = (struct source){0};
}
