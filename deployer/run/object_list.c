/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/run/object_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/objects/status.h"

#define PREFIX "objects-"
#define SUFFIX ".json"

enum { LIST_BYTES_MAX = 64 * 1024 * 1024 };

static char *file_name(const char *cluster)
{
    return xasprintf(PREFIX "%s" SUFFIX, cluster);
}

int object_list_read(int directory_fd, const char *cluster, struct inventory *ret_inventory,
                     bool *ret_is_found, struct error *err)
{
    cleanup_free char *name = file_name(cluster);
    cleanup_close int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_manifest_status struct manifest_status status = {0};
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *document = NULL;

    *ret_is_found = fd >= 0;
    if (fd < 0 && errno == ENOENT) {
        *ret_inventory = (struct inventory){0};
        return 0;
    }
    if (fd < 0)
        return error_set_errno(err, errno, "open \"%s\"", name);
    buffer_init(&text, LIST_BYTES_MAX);
    if (file_read_all(fd, name, &text, err) < 0)
        return -1;
    if (doc_parse_json(text.data ? text.data : "", text.size, LIST_BYTES_MAX, &document, err) < 0 ||
        manifest_status_parse(document, &status, err) < 0)
        return error_wrap(err, "list of applied objects \"%s\"", name);
    *ret_inventory = status.inventory;
    status.inventory = (struct inventory){0};
    return 0;
}

static int sync_directory(int directory_fd, struct error *err)
{
    return fsync(directory_fd) < 0 ? error_set_errno(err, errno, "sync the state directory") : 0;
}

int object_list_remove(int directory_fd, const char *cluster, struct error *err)
{
    cleanup_free char *name = file_name(cluster);

    if (unlinkat(directory_fd, name, 0) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "remove \"%s\"", name);
    return sync_directory(directory_fd, err);
}

int object_list_write(int directory_fd, const char *cluster, const struct inventory *inventory,
                      struct error *err)
{
    cleanup_free char *name = file_name(cluster);
    cleanup_free char *temporary = xasprintf("%s.new", name);
    cleanup_close int fd = -1;
    cleanup_json json_t *document = manifest_status_document(inventory, cluster, NULL);
    cleanup_free char *text = doc_dump(document);

    /* The caller holds the lock of the directory, so a file of this name is left over. */
    fd = openat(directory_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return error_set_errno(err, errno, "create \"%s\"", temporary);
    if (file_write_all(fd, temporary, text, strlen(text), err) < 0)
        return -1;
    if (fsync(fd) < 0)
        return error_set_errno(err, errno, "sync \"%s\"", temporary);
    if (renameat(directory_fd, temporary, directory_fd, name) < 0)
        return error_set_errno(err, errno, "replace \"%s\"", name);
    return sync_directory(directory_fd, err);
}

static bool is_list(const char *name)
{
    size_t length = strlen(name);

    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && length > strlen(PREFIX SUFFIX) &&
           strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

size_t object_list_count(int directory_fd, const char *cluster)
{
    cleanup_free char *own = cluster ? file_name(cluster) : xstrdup("");
    cleanup_close int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry = NULL;
    size_t count = 0;

    if (!directory)
        return 0;
    (void)steal_fd(&fd); /* owned by the stream */
    while ((entry = readdir(directory)))
        count += is_list(entry->d_name) && strcmp(entry->d_name, own) != 0 ? 1 : 0;
    (void)closedir(directory);
    return count;
}
