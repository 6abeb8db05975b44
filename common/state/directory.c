/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks in a directory: mounted Secrets, or the store of the local run. The kubelet mounts Secrets
 * with symlinks (to ..data), so symlinks are followed; only the kubelet or the user can write
 * there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/archive/beneath.h"
#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/state/restore.h"

enum { METADATA_MAX_BYTES = 256 * 1024, CHUNKS_MAX = 100000 };

static int read_file(int directory_fd, const char *object, const char *file,
                     struct buffer *ret_bytes, struct error *err)
{
    cleanup_free char *path = xasprintf("%s/%s", object, file);
    cleanup_close int fd = openat(directory_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat stat = {0};

    if (fd < 0 || fstat(fd, &stat) < 0)
        return error_set_errno(err, errno, "open \"%s\"", beneath_show(path).text);
    if (!S_ISREG(stat.st_mode))
        return error_set(err, ERROR_INVALID, "\"%s\" is not a regular file",
                         beneath_show(path).text);
    return file_read_all(fd, beneath_show(path).text, ret_bytes, err);
}

static int read_chunk(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err)
{
    const int *directory_fd = data;

    return read_file(*directory_fd, chunk->object, SECRET_KEY_CONFIG, ret_bytes, err);
}

struct state_source state_source_directory(const int *directory_fd)
{
    return (struct state_source){.read_chunk = read_chunk, .data = (void *)(uintptr_t)directory_fd};
}

/* The file has the metadata of a Secret without its name. If it can't be parsed, the chunk becomes
 * an incomplete generation of its own, which restore skips with a message. */
static void add_chunk(struct state_set *set, const char *object, const struct buffer *text)
{
    cleanup_json json_t *secret = json_object();
    json_t *metadata = NULL;
    struct error ignored = {0};

    if (doc_parse_json(text->data ? text->data : "", text->size, METADATA_MAX_BYTES, &metadata,
                       &ignored) < 0 ||
        !json_is_object(metadata)) {
        json_decref(metadata);
        metadata = json_pack("{s:{s:s, s:s}}", "annotations", ANNOTATION_STATE_UUID, object,
                             ANNOTATION_STATE_CHUNKS, "");
    }
    doc_set_new(secret, "metadata", metadata);
    doc_set_text(secret, "metadata.name", object);
    state_set_add_secret(set, secret);
}

static int add_subdirectory(struct state_set *set, int directory_fd, const char *name,
                            struct error *err)
{
    cleanup_buffer struct buffer text = {0};
    struct error failure = {0};

    buffer_init(&text, METADATA_MAX_BYTES);
    if (read_file(directory_fd, name, FILE_STATE_METADATA, &text, &failure) < 0) {
        if (failure.os == ENOENT || failure.os == ENOTDIR)
            return 0;
        *err = failure;
        return -1;
    }
    if (set->chunk_count >= CHUNKS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "more than %d state chunks", CHUNKS_MAX);
    add_chunk(set, name, &text);
    return 0;
}

static void closedirp(DIR **directory)
{
    if (*directory)
        (void)closedir(*directory);
}

int state_set_add_directory(struct state_set *set, int directory_fd, struct error *err)
{
    __attribute__((cleanup(closedirp))) DIR *directory = NULL;
    cleanup_close int fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry = NULL;

    directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory)
        return error_set_errno(err, errno, "open the directory of state chunks");
    (void)steal_fd(&fd);
    while ((errno = 0, entry = readdir(directory))) {
        /* ".", "..", "..data" and the like of the kubelet, temporary names. */
        if (entry->d_name[0] == '.')
            continue;
        if (add_subdirectory(set, directory_fd, entry->d_name, err) < 0)
            return -1;
    }
    if (errno)
        return error_set_errno(err, errno, "read the directory of state chunks");
    return 0;
}
