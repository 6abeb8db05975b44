/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/secret_volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/run/spec.h"

enum { MODE_DEFAULT = 0644 }; /* of Kubernetes, for volumes without a defaultMode */

struct filling {
    const json_t *input_secret;
    int state_fd, base_fd;
    const char *mount; /* relative to PATH_BASE */
    mode_t mode;       /* of the volume's files */
};

static const json_t *find_volume(const json_t *pod, const char *name)
{
    const json_t *volume = NULL;
    size_t index = 0;

    json_array_foreach(doc_get(pod, "spec.volumes"), index, volume)
    {
        if (strcmp(doc_text_or(volume, "name", ""), name) == 0)
            return volume;
    }
    return NULL;
}

/* Creates a file with the volume's mode, whatever the umask is, and the group of the pod. */
static int create_file(const struct filling *filling, const char *path, struct error *err)
{
    cleanup_free char *target = xasprintf("%s/%s", filling->mount, path);
    cleanup_close int fd = beneath_create_file(filling->base_fd, target, 0400, err);

    if (fd < 0)
        return -1;
    if (fchown(fd, (uid_t)-1, POD_FSGROUP_NUMBER) < 0 || fchmod(fd, filling->mode) < 0)
        return error_set_errno(err, errno, "set group and mode of \"%s\"", path);
    return steal_fd(&fd);
}

static int write_value(const struct filling *filling, const char *path, const json_t *value,
                       struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_close int fd = -1;

    buffer_init(&bytes, SECRET_MAX_BYTES + 1);
    if (base64_decode(json_string_value(value), json_string_length(value), &bytes, err) < 0)
        return error_wrap(err, "input \"%s\"", path);
    fd = create_file(filling, path, err);
    if (fd < 0)
        return -1;
    return file_write_all(fd, path, bytes.data ? bytes.data : "", bytes.size, err);
}

static int write_secret(const struct filling *filling, const json_t *secret, const json_t *items,
                        struct error *err)
{
    const json_t *data = doc_get(secret, "data");
    const json_t *item = NULL;
    const json_t *value = NULL;
    const char *key = NULL;
    size_t index = 0;

    if (!items) {
        json_object_foreach((json_t *)(uintptr_t)data, key, value)
        {
            if (write_value(filling, key, value, err) < 0)
                return -1;
        }
        return 0;
    }
    json_array_foreach(items, index, item)
    {
        value = doc_member(data, doc_text_or(item, "key", ""));
        if (!value)
            return error_set(err, ERROR_INTERNAL, "Secret \"%s\" has no key \"%s\"",
                             doc_text_or(secret, "metadata.name", ""),
                             doc_text_or(item, "key", ""));
        if (write_value(filling, doc_text_or(item, "path", ""), value, err) < 0)
            return -1;
    }
    return 0;
}

/* In a cluster this chunk of the state would be a Secret. */
static int copy_chunk(const struct filling *filling, const char *chunk, const json_t *items,
                      struct error *err)
{
    const json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(items, index, item)
    {
        cleanup_free char *source = xasprintf("%s/%s", chunk, doc_text_or(item, "key", ""));
        cleanup_close int in = beneath_open_file(filling->state_fd, source, NULL, err);
        cleanup_close int out = -1;

        if (in < 0)
            return error_wrap(err, "state \"%s\"", chunk);
        out = create_file(filling, doc_text_or(item, "path", ""), err);
        if (out < 0 || file_copy(in, out, source, err) < 0)
            return -1;
    }
    return 0;
}

static int fill_secret(const struct filling *filling, const char *name, const json_t *items,
                       struct error *err)
{
    struct stat info = {0};

    if (strcmp(doc_text_or(filling->input_secret, "metadata.name", ""), name) == 0)
        return write_secret(filling, filling->input_secret, items, err);
    if (filling->state_fd >= 0 && fstatat(filling->state_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
        return copy_chunk(filling, name, items, err);
    return error_set(err, ERROR_INTERNAL, "the pod mounts an unknown Secret \"%s\"", name);
}

static int fill_volume(const struct filling *filling, const json_t *volume, struct error *err)
{
    const char *secret = doc_text(volume, "secret.secretName");
    const json_t *source = NULL;
    size_t index = 0;

    if (secret)
        return fill_secret(filling, secret, doc_get(volume, "secret.items"), err);
    json_array_foreach(doc_get(volume, "projected.sources"), index, source)
    {
        const char *name = doc_text(source, "secret.name");

        if (name && fill_secret(filling, name, doc_get(source, "secret.items"), err) < 0)
            return -1;
    }
    return 0;
}

static mode_t mode_of(const json_t *volume)
{
    int64_t projected = doc_integer_or(volume, "projected.defaultMode", MODE_DEFAULT);

    return (mode_t)doc_integer_or(volume, "secret.defaultMode", projected);
}

static int fill_container(const json_t *pod, const json_t *container, const struct filling *base,
                          struct error *err)
{
    const json_t *mount = NULL;
    size_t index = 0;
    size_t prefix = strlen(PATH_BASE "/");

    json_array_foreach(doc_get(container, "volumeMounts"), index, mount)
    {
        const char *path = doc_text_or(mount, "mountPath", "");
        const json_t *volume = find_volume(pod, doc_text_or(mount, "name", ""));
        struct filling filling = *base;

        if (strncmp(path, PATH_BASE "/", prefix) != 0 || strcmp(path, PATH_SHARED) == 0)
            continue;
        filling.mount = path + prefix;
        filling.mode = mode_of(volume);
        if (fill_volume(&filling, volume, err) < 0)
            return error_wrap(err, "volume at \"%s\"", path);
    }
    return 0;
}

int secret_volumes_fill(const json_t *pod, const json_t *input_secret, int state_fd,
                        const char *run_path, struct error *err)
{
    static const char *const containers[] = {CONTAINER_INIT, CONTAINER_MAIN};
    cleanup_free char *base = xasprintf("%s/ls", run_path);
    cleanup_close int base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct filling filling = {
        .input_secret = input_secret, .state_fd = state_fd, .base_fd = base_fd};

    if (base_fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", base);
    for (size_t i = 0; i < array_length(containers); i++) {
        if (fill_container(pod, spec_container(pod, containers[i]), &filling, err) < 0)
            return -1;
    }
    return 0;
}
