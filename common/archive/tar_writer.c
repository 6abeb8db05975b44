/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/tar_writer.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "common/archive/beneath.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"

enum { BLOCK_SIZE = 512, OUTPUT_SIZE = 64 * 1024, LEVEL = 6, MEMORY_LEVEL = 8, OS_UNKNOWN = 255 };
enum { PAX_MAX = 4 * BENEATH_PATH_MAX };
#define OCTAL_11_MAX UINT64_C(077777777777)

struct ustar {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, target[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK_SIZE, "a ustar header is one block");

struct tar_writer {
    pack_write_fn *write;
    void *data;
    z_stream stream;
    gz_header gzip_header;
    uint64_t packed_bytes;
    unsigned char output[OUTPUT_SIZE];
};

struct tar_writer *tar_writer_new(pack_write_fn *write, void *data)
{
    struct tar_writer *writer = xcalloc(1, sizeof(*writer));

    writer->write = write;
    writer->data = data;
    writer->gzip_header.os = OS_UNKNOWN;
    if (deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, MAX_WBITS + 16, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK ||
        deflateSetHeader(&writer->stream, &writer->gzip_header) != Z_OK)
        out_of_memory();
    writer->stream.next_out = writer->output;
    writer->stream.avail_out = OUTPUT_SIZE;
    return writer;
}

void tar_writer_free(struct tar_writer *writer)
{
    if (!writer)
        return;
    (void)deflateEnd(&writer->stream);
    free(writer);
}

static int flush_output(struct tar_writer *writer, struct error *err)
{
    size_t size = OUTPUT_SIZE - writer->stream.avail_out;

    if (size && writer->write(writer->data, writer->output, size, err) < 0)
        return -1;
    writer->packed_bytes += size;
    writer->stream.next_out = writer->output;
    writer->stream.avail_out = OUTPUT_SIZE;
    return 0;
}

int tar_writer_data(struct tar_writer *writer, const void *bytes, size_t size, struct error *err)
{
    writer->stream.next_in = (z_const Bytef *)(uintptr_t)bytes;
    writer->stream.avail_in = (uInt)size;
    while (writer->stream.avail_in) {
        if (deflate(&writer->stream, Z_NO_FLUSH) == Z_STREAM_ERROR)
            return error_set(err, ERROR_INTERNAL, "gzip encoder failed");
        if (!writer->stream.avail_out && flush_output(writer, err) < 0)
            return -1;
    }
    return 0;
}

int tar_writer_pad(struct tar_writer *writer, uint64_t size, struct error *err)
{
    static const char zeros[BLOCK_SIZE];
    size_t over = (size_t)(size % BLOCK_SIZE);

    return over ? tar_writer_data(writer, zeros, BLOCK_SIZE - over, err) : 0;
}

/* Octal digits and a NUL, as Go writes them: "0000644\0". */
static void put_octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i--; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void put_text(char *field, size_t size, const char *text, size_t length)
{
    memcpy(field, text, length < size ? length : size);
}

static void put_checksum(struct ustar *block)
{
    const unsigned char *bytes = (const unsigned char *)block;
    unsigned sum = 0;

    memset(block->checksum, ' ', sizeof(block->checksum));
    for (size_t i = 0; i < sizeof(*block); i++)
        sum += bytes[i];
    put_octal(block->checksum, 7, sum);
}

static void fill_block(struct ustar *block, char type, mode_t mode, uint64_t size, uint64_t mtime)
{
    *block = (struct ustar){.type = type};
    put_octal(block->mode, sizeof(block->mode), mode);
    put_octal(block->uid, sizeof(block->uid), 0);
    put_octal(block->gid, sizeof(block->gid), 0);
    put_octal(block->size, sizeof(block->size), size);
    put_octal(block->mtime, sizeof(block->mtime), mtime);
    memcpy(block->magic, "ustar", sizeof(block->magic));
    memcpy(block->version, "00", sizeof(block->version));
    put_octal(block->major, sizeof(block->major), 0);
    put_octal(block->minor, sizeof(block->minor), 0);
}

/* Splits the name into prefix and name, if a slash is in the right place. */
static bool put_name(struct ustar *block, const char *name)
{
    size_t length = strlen(name);

    if (length <= sizeof(block->name)) {
        put_text(block->name, sizeof(block->name), name, length);
        return true;
    }
    if (length > sizeof(block->prefix) + 1 + sizeof(block->name))
        return false;
    for (size_t cut = length - sizeof(block->name) - 1; cut <= sizeof(block->prefix); cut++) {
        if (name[cut] == '/' && cut > 0 && cut + 1 < length) {
            put_text(block->prefix, sizeof(block->prefix), name, cut);
            put_text(block->name, sizeof(block->name), name + cut + 1, length - cut - 1);
            return true;
        }
    }
    return false;
}

static bool is_ascii(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text >= 0x80)
            return false;
    }
    return true;
}

/* "<length> <key>=<value>\n", where the length counts its own digits. */
static int add_record(struct buffer *pax, const char *key, const char *value, struct error *err)
{
    size_t rest = strlen(key) + strlen(value) + 3; /* blank, '=', newline */
    size_t length = rest;

    for (int i = 0; i < 2; i++) {
        size_t digits = 1;

        for (size_t left = length; left >= 10; left /= 10)
            digits++;
        length = rest + digits;
    }
    return buffer_append_text(pax, err, "%zu %s=%s\n", length, key, value);
}

/* Adds records for what the ustar block can't represent. */
struct gaps {
    bool is_name_missing, is_target_missing, is_size_missing, is_mtime_missing;
};

static int add_records(struct buffer *pax, const struct tar_header *header, const struct gaps *gaps,
                       struct error *err)
{
    bool is_binary = (gaps->is_name_missing && !is_ascii(header->name)) ||
                     (gaps->is_target_missing && !is_ascii(header->target));
    char size[32], mtime[64];

    (void)snprintf(size, sizeof(size), "%llu", (unsigned long long)header->size);
    /* Omitted before 1970, where readers interpret the fraction differently. */
    if (header->mtime.tv_nsec && header->mtime.tv_sec >= 0)
        (void)snprintf(mtime, sizeof(mtime), "%lld.%09ld", (long long)header->mtime.tv_sec,
                       header->mtime.tv_nsec);
    else
        (void)snprintf(mtime, sizeof(mtime), "%lld", (long long)header->mtime.tv_sec);
    if ((is_binary && add_record(pax, "hdrcharset", "BINARY", err) < 0) ||
        (gaps->is_name_missing && add_record(pax, "path", header->name, err) < 0) ||
        (gaps->is_target_missing && add_record(pax, "linkpath", header->target, err) < 0) ||
        (gaps->is_size_missing && add_record(pax, "size", size, err) < 0) ||
        (gaps->is_mtime_missing && add_record(pax, "mtime", mtime, err) < 0))
        return -1;
    return 0;
}

static int write_pax(struct tar_writer *writer, const struct tar_header *header,
                     const struct gaps *gaps, struct error *err)
{
    static const char name[] = "PaxHeader";
    cleanup_buffer struct buffer pax = {0};
    struct ustar block = {0};

    buffer_init(&pax, PAX_MAX);
    if (add_records(&pax, header, gaps, err) < 0)
        return -1;
    if (!pax.size)
        return 0;
    fill_block(&block, 'x', 0, pax.size, 0);
    put_text(block.name, sizeof(block.name), name, sizeof(name) - 1);
    put_checksum(&block);
    if (tar_writer_data(writer, &block, sizeof(block), err) < 0 ||
        tar_writer_data(writer, pax.data, pax.size, err) < 0)
        return -1;
    return tar_writer_pad(writer, pax.size, err);
}

int tar_writer_header(struct tar_writer *writer, const struct tar_header *header, struct error *err)
{
    struct ustar block = {0};
    int64_t seconds = header->mtime.tv_sec;
    bool is_time_plain = seconds >= 0 && (uint64_t)seconds <= OCTAL_11_MAX;
    struct gaps gaps = {
        .is_size_missing = header->size > OCTAL_11_MAX,
        .is_mtime_missing = !is_time_plain || header->mtime.tv_nsec != 0,
        .is_target_missing = header->target && strlen(header->target) > sizeof(block.target),
    };

    fill_block(&block, header->type, header->mode & 0777, gaps.is_size_missing ? 0 : header->size,
               is_time_plain ? (uint64_t)seconds : 0);
    gaps.is_name_missing = !put_name(&block, header->name);
    /* Readers without pax support see a part of the name. */
    if (gaps.is_name_missing)
        put_text(block.name, sizeof(block.name), header->name, strlen(header->name));
    if (header->target)
        put_text(block.target, sizeof(block.target), header->target, strlen(header->target));
    put_checksum(&block);
    if (write_pax(writer, header, &gaps, err) < 0)
        return -1;
    return tar_writer_data(writer, &block, sizeof(block), err);
}

int tar_writer_finish(struct tar_writer *writer, struct error *err)
{
    static const char zeros[2 * BLOCK_SIZE];

    if (tar_writer_data(writer, zeros, sizeof(zeros), err) < 0)
        return -1;
    return tar_writer_finish_open(writer, err);
}

int tar_writer_finish_open(struct tar_writer *writer, struct error *err)
{
    int result = Z_OK;

    do {
        result = deflate(&writer->stream, Z_FINISH);
        if (result == Z_STREAM_ERROR)
            return error_set(err, ERROR_INTERNAL, "gzip encoder failed");
        if (flush_output(writer, err) < 0)
            return -1;
    } while (result != Z_STREAM_END);
    return 0;
}

uint64_t tar_writer_packed_bytes(const struct tar_writer *writer)
{
    return writer->packed_bytes;
}
