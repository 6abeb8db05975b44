/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tests/tar_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

enum { BLOCK_SIZE = 512, TAR_MAX = 1 << 30 };

void tar_builder_init(struct buffer *tar)
{
    buffer_init(tar, TAR_MAX);
}

void tar_builder_add_bytes(struct buffer *tar, const void *bytes, size_t size)
{
    struct error err = {0};

    if (buffer_append(tar, bytes, size, &err) < 0)
        abort();
}

static void add_padded(struct buffer *tar, const void *bytes, size_t size)
{
    static const char zeros[BLOCK_SIZE];

    tar_builder_add_bytes(tar, bytes, size);
    if (size % BLOCK_SIZE)
        tar_builder_add_bytes(tar, zeros, BLOCK_SIZE - size % BLOCK_SIZE);
}

/* Truncates the text to the size of the field, which was zeroed. */
static void put(unsigned char *field, const char *text, size_t size)
{
    memcpy(field, text, strnlen(text, size));
}

static void add_header(struct buffer *tar, const char *name, char type, const char *target,
                       unsigned mode, uint64_t size)
{
    unsigned char block[BLOCK_SIZE] = {0};
    char number[24];
    unsigned sum = 0;

    put(block, name, 100);
    (void)snprintf((char *)block + 100, 8, "%07o", mode & 07777777);
    put(block + 108, "0000000", 8);
    put(block + 116, "0000000", 8);
    if (size < UINT64_C(1) << 33) {
        (void)snprintf(number, sizeof(number), "%011llo", (unsigned long long)size);
        put(block + 124, number, 12);
    } else { /* base 256, as GNU tar writes it */
        block[124] = 0x80;
        for (int i = 0; i < 8; i++)
            block[135 - i] = (unsigned char)(size >> (8 * i));
    }
    put(block + 136, "00000000144", 12);
    put(block + 148, "        ", 8);
    block[156] = (unsigned char)type;
    if (target)
        put(block + 157, target, 100);
    put(block + 257, "ustar", 6);
    put(block + 263, "00", 2);
    for (size_t i = 0; i < sizeof(block); i++)
        sum += block[i];
    (void)snprintf((char *)block + 148, 8, "%06o", sum & 0777777);
    tar_builder_add_bytes(tar, block, sizeof(block));
}

/* "path=x\n" becomes "10 path=x\n". */
static void add_pax(struct buffer *tar, const char *records)
{
    cleanup_buffer struct buffer pax = {0};

    tar_builder_init(&pax);
    while (*records) {
        size_t rest = strcspn(records, "\n") + 2, length = rest;
        struct error err = {0};

        for (int i = 0; i < 3; i++) /* the length counts its own digits */
            length = rest + (size_t)snprintf(NULL, 0, "%zu", length);
        if (buffer_append_text(&pax, &err, "%zu %.*s\n", length, (int)(rest - 2), records) < 0)
            abort();
        records += rest - 2;
        records += *records == '\n';
    }
    add_header(tar, "PaxHeader", 'x', NULL, 0644, pax.size);
    add_padded(tar, pax.data, pax.size);
}

void tar_builder_add(struct buffer *tar, const struct tar_spec *spec)
{
    size_t data_size = spec->data ? strlen(spec->data) : 0;

    if (spec->gnu_name) {
        add_header(tar, "././@LongLink", 'L', NULL, 0644, strlen(spec->gnu_name) + 1);
        add_padded(tar, spec->gnu_name, strlen(spec->gnu_name) + 1);
    }
    if (spec->pax)
        add_pax(tar, spec->pax);
    add_header(tar, spec->name, spec->type ? spec->type : '0', spec->target,
               spec->mode ? spec->mode : 0644, spec->size ? spec->size : data_size);
    add_padded(tar, spec->data, data_size);
}

void tar_builder_end(struct buffer *tar)
{
    static const char zeros[2 * BLOCK_SIZE];

    tar_builder_add_bytes(tar, zeros, sizeof(zeros));
}

struct buffer tar_builder_pack(const void *bytes, size_t size, enum tar_packing packing)
{
    struct archive *writer = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    size_t capacity = size + size / 2 + (1 << 16), used = 0;
    char *packed = xmalloc(capacity);
    struct buffer result = {0};

    (void)archive_write_set_format_raw(writer);
    switch (packing) {
    case TAR_GZIP:
        (void)archive_write_add_filter_gzip(writer);
        break;
    case TAR_ZSTD:
        (void)archive_write_add_filter_zstd(writer);
        break;
    case TAR_XZ:
        (void)archive_write_add_filter_xz(writer);
        (void)archive_write_set_options(writer, "compression-level=0");
        break;
    case TAR_BZIP2:
        (void)archive_write_add_filter_bzip2(writer);
        break;
    case TAR_PLAIN:
    case TAR_PACKINGS:
        break;
    }
    (void)archive_write_set_bytes_per_block(writer, 0);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    if (archive_write_open_memory(writer, packed, capacity, &used) != ARCHIVE_OK ||
        archive_write_header(writer, entry) != ARCHIVE_OK ||
        (size && archive_write_data(writer, bytes, size) != (la_ssize_t)size) ||
        archive_write_close(writer) != ARCHIVE_OK)
        abort();
    archive_entry_free(entry);
    (void)archive_write_free(writer);
    tar_builder_init(&result);
    tar_builder_add_bytes(&result, packed, used);
    free(packed);
    return result;
}
