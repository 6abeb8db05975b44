/* SPDX-License-Identifier: Apache-2.0 */
/* Property: the reader returns what the writer got: names, targets, modes, times and data, in one
 * gzip member with a correct checksum.
 *
 * The input is a list of entries: the lengths of name, target and data, type, mode and time, then
 * the bytes of all three. */
#include <stdint.h>
#include <string.h>

#include "common/archive/plain.h"
#include "common/archive/tar_reader.h"
#include "common/archive/tar_writer.h"
#include "common/archive/tests/memory_source.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

enum { ENTRIES_MAX = 16, TEXT_MAX = 600, DATA_MAX = 4096, NANOSECONDS = 1000000000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_true)
{
    if (!is_true)
        abort();
}

struct shape {
    uint16_t name_size, target_size, data_size, mode;
    int32_t seconds;
    uint32_t nanoseconds;
    uint8_t type;
} __attribute__((packed));

struct entry {
    struct tar_header header;
    char name[TEXT_MAX + 1], target[TEXT_MAX + 1];
    const uint8_t *data;
};

/* Replaces what names in a directory never have: NUL and empty components. */
static size_t take_text(char text[TEXT_MAX + 1], const uint8_t *bytes, size_t size)
{
    memcpy(text, bytes, size);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\0' || (text[i] == '/' && (i == 0 || text[i - 1] == '/')))
            text[i] = 'a';
    }
    if (size == 0)
        text[size++] = 'b';
    if (text[size - 1] == '/')
        text[size - 1] = 'c';
    text[size] = '\0';
    return size;
}

static size_t at_most(size_t value, size_t max)
{
    return value < max ? value : max;
}

/* The next entry of the input; false at its end. */
static bool take_entry(const uint8_t **data, size_t *size, struct entry *entry)
{
    static const char types[] = {'0', '2', '5'};
    struct shape shape = {0};
    size_t name = 0;
    size_t target = 0;

    if (*size < sizeof(shape))
        return false;
    memcpy(&shape, *data, sizeof(shape));
    *data += sizeof(shape);
    *size -= sizeof(shape);
    *entry = (struct entry){0};
    entry->header.type = types[shape.type % sizeof(types)];
    entry->header.mode = shape.mode & 0777;
    entry->header.mtime = (struct timespec){shape.seconds, shape.nanoseconds % NANOSECONDS};
    name = at_most(shape.name_size % (TEXT_MAX + 1), *size);
    (void)take_text(entry->name, *data, name);
    target = at_most(shape.target_size % (TEXT_MAX + 1), *size - name);
    (void)take_text(entry->target, *data + name, target);
    entry->data = *data + name + target;
    if (entry->header.type == '0')
        entry->header.size = at_most(shape.data_size % DATA_MAX, *size - name - target);
    entry->header.name = entry->name;
    entry->header.target = entry->header.type == '2' ? entry->target : NULL;
    *data = entry->data + entry->header.size;
    *size -= name + target + entry->header.size;
    return true;
}

static int keep(void *data, const void *bytes, size_t size, struct error *err)
{
    return buffer_append(data, bytes, size, err);
}

static size_t write_all(const uint8_t *data, size_t size, struct entry entries[ENTRIES_MAX],
                        struct buffer *packed)
{
    cleanup_tar_writer struct tar_writer *writer = tar_writer_new(keep, packed);
    struct error err = {0};
    size_t count = 0;

    while (count < ENTRIES_MAX && take_entry(&data, &size, &entries[count])) {
        const struct tar_header *header = &entries[count].header;

        require(tar_writer_header(writer, header, &err) == 0);
        require(tar_writer_data(writer, entries[count].data, header->size, &err) == 0);
        require(tar_writer_pad(writer, header->size, &err) == 0);
        count++;
    }
    require(tar_writer_finish(writer, &err) == 0);
    require(tar_writer_packed_bytes(writer) == packed->size);
    return count;
}

static void check_data(struct tar_reader *reader, const struct entry *entry)
{
    const void *bytes = NULL;
    struct error err = {0};
    uint64_t offset = 0;
    uint64_t seen = 0;
    ssize_t size = 0;

    while ((size = tar_reader_data(reader, &bytes, &offset, &err)) > 0) {
        require(offset == seen && seen + (uint64_t)size <= entry->header.size);
        require(memcmp(bytes, entry->data + seen, (size_t)size) == 0);
        seen += (uint64_t)size;
    }
    require(size == 0 && seen == entry->header.size);
}

static void check_entry(struct tar_reader *reader, const struct entry *entry)
{
    static const enum tar_kind kinds[] = {
        ['0'] = TAR_FILE, ['2'] = TAR_SYMLINK, ['5'] = TAR_DIRECTORY};
    const struct tar_header *header = &entry->header;
    struct tar_entry found = {0};
    struct error err = {0};

    require(tar_reader_next(reader, &found, &err) == 1);
    require(found.kind == kinds[(unsigned char)header->type]);
    require(strcmp(found.name, header->name) == 0);
    require(!header->target || strcmp(found.target, header->target) == 0);
    require(found.mode == header->mode);
    /* Readers do not agree on the fraction of a time before 1970: the writer leaves it out. */
    require(found.has_mtime && found.mtime.tv_sec == header->mtime.tv_sec &&
            found.mtime.tv_nsec == (header->mtime.tv_sec < 0 ? 0 : header->mtime.tv_nsec));
    if (found.kind == TAR_FILE) {
        require(found.size == header->size);
        check_data(reader, entry);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct entry entries[ENTRIES_MAX];
    cleanup_buffer struct buffer packed = {0};
    cleanup_plain struct plain *plain = NULL;
    cleanup_tar_reader struct tar_reader *reader = NULL;
    const struct plain_options options = {.limits = &ARCHIVE_LIMITS_STATE};
    struct memory_source source = {.piece = 1000};
    struct tar_entry none = {0};
    struct error err = {0};
    size_t count = 0;

    buffer_init(&packed, 1 << 20);
    count = write_all(data, size, entries, &packed);
    source.bytes = packed.data;
    source.size = packed.size;
    require(plain_new(&options, memory_source_read, &source, &plain, &err) == 0);
    require(tar_reader_new(plain, &reader, &err) == 0);
    for (size_t i = 0; i < count; i++)
        check_entry(reader, &entries[i]);
    require(tar_reader_next(reader, &none, &err) == 0 && tar_reader_saw_end(reader));
    require(plain_drain(plain, &err) == 0 && !plain_is_cut(plain));
    return 0;
}
