/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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

bool source_is_local(const char *text)
{
    if (text[0] == '/')
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

static int detect_kind(const char *path, enum source_kind *ret_kind, struct error *err)
{
    if (is_directory(path)) {
        *ret_kind = has_file(path, "oci-layout") ? SOURCE_OCI : SOURCE_ROOTFS;
        return 0;
    }
    if (access(path, R_OK) < 0)
        return error_set_errno(err, errno, "image \"%s\"", path);
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

    if (text[0] == '/') {
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
            int result =
                error_set_errno(err, errno, "image \"%s\": open \"%s\"", text, source.path);

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

void source_done(struct source *source)
{
    free(source->path);
    free(source->tag);
    *source = (struct source){0};
}
