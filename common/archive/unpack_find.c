/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/archive/beneath.h"
#include "common/archive/tar_reader.h"
#include "common/archive/unpack.h"
#include "common/base/buffer.h"

struct memory_source {
    const void *bytes;
    size_t size;
};

static ssize_t read_memory(void *data, const void **ret_bytes, struct error *err)
{
    struct memory_source *source = data;
    size_t size = source->size;

    (void)err;
    *ret_bytes = source->bytes;
    source->size = 0;
    return (ssize_t)size;
}

static const char *skip_root(const char *name)
{
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (name[0] == '.' && name[1] == '/')
            name += 2;
        else
            return name;
    }
}

/* Appends the zeros of a hole. */
static int fill_hole(struct buffer *data, uint64_t end, struct error *err)
{
    static const char zeros[4096];
    int result = 0;

    while (result == 0 && data->size < end) {
        size_t hole = (size_t)end - data->size;

        result = buffer_append(data, zeros, hole < sizeof(zeros) ? hole : sizeof(zeros), err);
    }
    return result;
}

static int read_whole(struct tar_reader *reader, const struct tar_entry *entry, size_t max_bytes,
                      struct buffer *ret_data, struct error *err)
{
    const void *bytes = NULL;
    uint64_t offset = 0;
    ssize_t size = 0;

    if (entry->size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "\"%s\" is larger than %zu bytes",
                         beneath_show(entry->name).text, max_bytes);
    do {
        size = tar_reader_data(reader, &bytes, &offset, err);
        if (size == 0)
            offset = entry->size;
        if (size > 0 && (offset > entry->size || (uint64_t)size > entry->size - offset))
            return error_set(err, ERROR_INVALID, "\"%s\" has more data than its size",
                             beneath_show(entry->name).text);
        if (size < 0 || fill_hole(ret_data, offset, err) < 0 ||
            buffer_append(ret_data, bytes, (size_t)size, err) < 0)
            return -1;
    } while (size > 0);
    return 0;
}

static bool is_wanted(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    if (name)
        return strcmp(skip_root(path), name) == 0;
    return strncmp(slash ? slash + 1 : path, "._", 2) != 0;
}

int unpack_find_file(const void *packed, size_t packed_size, const char *name, size_t max_bytes,
                     char **ret_data, size_t *ret_size, struct error *err)
{
    const struct plain_options options = {.limits = &ARCHIVE_LIMITS_BLUEPRINT};
    struct memory_source source = {.bytes = packed, .size = packed_size};
    cleanup_buffer struct buffer data = {0};
    cleanup_plain struct plain *plain = NULL;
    cleanup_tar_reader struct tar_reader *reader = NULL;
    struct tar_entry entry = {0};
    bool is_found = false;
    int found = 0;

    buffer_init(&data, max_bytes);
    if (plain_new(&options, read_memory, &source, &plain, err) < 0 ||
        tar_reader_new(plain, &reader, err) < 0)
        return -1;
    while ((found = tar_reader_next(reader, &entry, err)) > 0) {
        if (entry.kind != TAR_FILE || !is_wanted(entry.name, name) || (is_found && !name))
            continue;
        if (is_found)
            return error_set(err, ERROR_INVALID, "archive has \"%s\" twice", name);
        is_found = true;
        if (read_whole(reader, &entry, max_bytes, &data, err) < 0)
            return -1;
    }
    if (found < 0 || plain_drain(plain, err) < 0)
        return -1;
    if (!is_found && !name)
        return error_set(err, ERROR_NOT_FOUND, "archive has no file");
    if (!is_found)
        return error_set(err, ERROR_NOT_FOUND, "archive has no file \"%s\"", name);
    *ret_size = data.size;
    *ret_data = buffer_take(&data);
    return 0;
}
