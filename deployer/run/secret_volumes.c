/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

enum { MODE_DEFAULT = 0644 }; /* Kubernetes' own, of volumes that name none */

struct filling {
    const json_t *pod, *secrets;
    int state_fd, base_fd;
    const char *mount; /* below PATH_BASE, no slash in front */
    mode_t mode;       /* of the volume's files */
};

static const json_t *named(const json_t *list, const char *name, const char *path)
{
    const json_t *object = NULL;
    size_t index = 0;

    json_array_foreach(list, index, object)
    {
        if (strcmp(doc_text_or(object, path, ""), name) == 0)
            return object;
    }
    return NULL;
}

/* A new file as a kubelet makes it: the volume's mode, whatever the user's umask is, and the group
 * of the pod. */
static int create_file(const struct filling *filling, const char *path, struct error *err)
{
    cleanup_free char *target = xasprintf("%s/%s", filling->mount, path);
    cleanup_close int fd = beneath_create_file(filling->base_fd, target, 0400, err);

    if (fd < 0)
        return -1;
    if (fchown(fd, (uid_t)-1, POD_FSGROUP_NUMBER) < 0 || fchmod(fd, filling->mode) < 0)
        return error_set_errno(err, errno, "give '%s' to the pod's group", path);
    return steal_fd(&fd);
}

static int write_value(const struct filling *filling, const char *path, const json_t *value,
                       struct error *err)
{
    cleanup_buffer struct buffer bytes = {0};
    cleanup_close int fd = -1;

    buffer_init(&bytes, SECRET_MAX_BYTES + 1);
    if (base64_decode(json_string_value(value), json_string_length(value), &bytes, err) < 0)
        return error_wrap(err, "input '%s'", path);
    fd = create_file(filling, path, err);
    if (fd < 0)
        return -1;
    return beneath_write_all(fd, bytes.data ? bytes.data : "", bytes.size, path, err);
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
            return error_set(err, ERROR_INTERNAL, "Secret '%s' has no key '%s'",
                             doc_text_or(secret, "metadata.name", ""),
                             doc_text_or(item, "key", ""));
        if (write_value(filling, doc_text_or(item, "path", ""), value, err) < 0)
            return -1;
    }
    return 0;
}

/* A chunk of the local store stands for the Secret that it would be in a cluster. */
static int copy_chunk(const struct filling *filling, const char *chunk, const json_t *items,
                      struct error *err)
{
    const json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(items, index, item)
    {
        cleanup_free char *source = xasprintf("%s/%s", chunk, doc_text_or(item, "key", ""));
        struct stat info = {0};
        cleanup_close int in = beneath_open_file(filling->state_fd, source, &info, err);
        cleanup_close int out = -1;

        if (in < 0)
            return error_wrap(err, "state '%s'", chunk);
        out = create_file(filling, doc_text_or(item, "path", ""), err);
        if (out < 0)
            return -1;
        for (off_t left = info.st_size; left > 0;) {
            ssize_t copied = sendfile(out, in, NULL, (size_t)left);

            if (copied <= 0)
                return error_set_errno(err, copied < 0 ? errno : EIO, "copy state '%s'", chunk);
            left -= copied;
        }
    }
    return 0;
}

static int fill_secret(const struct filling *filling, const char *name, const json_t *items,
                       struct error *err)
{
    const json_t *secret = named(filling->secrets, name, "metadata.name");
    struct stat info = {0};

    if (secret)
        return write_secret(filling, secret, items, err);
    if (filling->state_fd >= 0 && fstatat(filling->state_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
        return copy_chunk(filling, name, items, err);
    return error_set(err, ERROR_INTERNAL, "the pod mounts a Secret '%s' that nobody made", name);
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

int volumes_fill(const json_t *pod, const json_t *container, const json_t *secrets, int state_fd,
                 int base_fd, struct error *err)
{
    const json_t *mount = NULL;
    size_t index = 0;
    size_t prefix = strlen(PATH_BASE "/");

    json_array_foreach(doc_get(container, "volumeMounts"), index, mount)
    {
        const char *path = doc_text_or(mount, "mountPath", "");
        const json_t *volume =
            named(doc_get(pod, "spec.volumes"), doc_text_or(mount, "name", ""), "name");
        struct filling filling = {.pod = pod,
                                  .secrets = secrets,
                                  .state_fd = state_fd,
                                  .base_fd = base_fd,
                                  .mount = path + prefix,
                                  .mode = mode_of(volume)};

        if (strncmp(path, PATH_BASE "/", prefix) != 0 || strcmp(path, PATH_SHARED) == 0)
            continue;
        if (fill_volume(&filling, volume, err) < 0)
            return error_wrap(err, "volume at '%s'", path);
    }
    return 0;
}
