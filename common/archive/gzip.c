/* SPDX-License-Identifier: Apache-2.0 */
/* zlib inflates the raw deflate data; header and trailer are parsed here, since zlib treats a
 * truncated trailer as an error and the bytes after it as another member. */
#include "common/archive/gzip.h"

#include <string.h>
#include <zlib.h>

#include "common/base/memory.h"

enum { OUTPUT_SIZE = 64 * 1024, TRAILER_SIZE = 8, CRC_SIZE = 4 };
enum { FLAG_HEADER_CRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAG_RESERVED = 224 };

enum step { STEP_HEADER, STEP_DATA, STEP_TRAILER, STEP_BETWEEN, STEP_END };

struct gzip {
    unpack_read_fn *read;
    void *data;
    bool is_tail_tolerated, is_cut, is_source_ended;
    enum step step;
    const unsigned char *input;
    size_t input_size;
    uint32_t crc, length;
    z_stream stream;
    bool is_stream_open;
    unsigned char output[OUTPUT_SIZE];
};

struct gzip *gzip_new(unpack_read_fn *read, void *data, bool is_tail_tolerated)
{
    struct gzip *gzip = xcalloc(1, sizeof(*gzip));

    gzip->read = read;
    gzip->data = data;
    gzip->is_tail_tolerated = is_tail_tolerated;
    return gzip;
}

void gzip_free(struct gzip *gzip)
{
    if (!gzip)
        return;
    if (gzip->is_stream_open)
        (void)inflateEnd(&gzip->stream);
    explicit_bzero(gzip->output, sizeof(gzip->output)); /* may contain state */
    free(gzip);
}

bool gzip_is_cut(const struct gzip *gzip)
{
    return gzip->is_cut;
}

/* Reads from the source if no input is left. Returns 1, or 0 at the end of the source. */
static int fill(struct gzip *gzip, struct error *err)
{
    const void *bytes = NULL;
    ssize_t size = 0;

    if (gzip->input_size)
        return 1;
    if (gzip->is_source_ended)
        return 0;
    size = gzip->read(gzip->data, &bytes, err);
    if (size < 0)
        return -1;
    gzip->is_source_ended = size == 0;
    gzip->input = bytes;
    gzip->input_size = (size_t)size;
    return size > 0;
}

static int set_damaged(struct error *err, const char *what)
{
    return error_set(err, ERROR_INVALID, "gzip stream is damaged: %s", what);
}

/* The next byte of the header, or -1. */
static int next_byte(struct gzip *gzip, struct error *err)
{
    int filled = fill(gzip, err);

    if (filled == 0)
        return set_damaged(err, "truncated header");
    if (filled < 0)
        return -1;
    gzip->input_size--;
    return *gzip->input++;
}

static int skip_bytes(struct gzip *gzip, unsigned count, struct error *err)
{
    while (count--) {
        if (next_byte(gzip, err) < 0)
            return -1;
    }
    return 0;
}

static int skip_text(struct gzip *gzip, struct error *err)
{
    int byte = 0;

    do {
        byte = next_byte(gzip, err);
    } while (byte > 0);
    return byte;
}

static int read_header(struct gzip *gzip, struct error *err)
{
    static const unsigned char magic[] = {0x1f, 0x8b, Z_DEFLATED};
    int flags = 0, low = 0, high = 0;

    for (size_t i = 0; i < sizeof(magic); i++) {
        int byte = next_byte(gzip, err);

        if (byte < 0)
            return -1;
        if (byte != magic[i])
            return set_damaged(err, "not a gzip header");
    }
    flags = next_byte(gzip, err);
    if (flags < 0 || skip_bytes(gzip, 6, err) < 0)
        return -1;
    if (flags & FLAG_RESERVED)
        return set_damaged(err, "unknown flags");
    if (flags & FLAG_EXTRA) {
        if ((low = next_byte(gzip, err)) < 0 || (high = next_byte(gzip, err)) < 0 ||
            skip_bytes(gzip, (unsigned)low | (unsigned)high << 8, err) < 0)
            return -1;
    }
    if (((flags & FLAG_NAME) && skip_text(gzip, err) < 0) ||
        ((flags & FLAG_COMMENT) && skip_text(gzip, err) < 0) ||
        ((flags & FLAG_HEADER_CRC) && skip_bytes(gzip, 2, err) < 0))
        return -1;

    if (gzip->is_stream_open ? inflateReset(&gzip->stream) != Z_OK
                             : inflateInit2(&gzip->stream, -MAX_WBITS) != Z_OK)
        out_of_memory();
    gzip->is_stream_open = true;
    gzip->crc = (uint32_t)crc32(0, NULL, 0);
    gzip->length = 0;
    gzip->step = STEP_DATA;
    return 0;
}

/* Returns the number of bytes in gzip->output, which can be 0 before the end of the data. */
static ssize_t read_data(struct gzip *gzip, struct error *err)
{
    int filled = fill(gzip, err);
    int result = Z_OK;
    size_t taken = 0, made = 0;

    if (filled < 0)
        return -1;
    if (filled == 0 && !gzip->is_tail_tolerated)
        return set_damaged(err, "truncated");
    taken = gzip->input_size < OUTPUT_SIZE ? gzip->input_size : OUTPUT_SIZE;
    gzip->stream.next_in = (z_const Bytef *)(uintptr_t)gzip->input;
    gzip->stream.avail_in = (uInt)taken;
    gzip->stream.next_out = gzip->output;
    gzip->stream.avail_out = OUTPUT_SIZE;
    result = inflate(&gzip->stream, Z_NO_FLUSH);
    taken -= gzip->stream.avail_in;
    if (taken > 0) { /* else next_in may be NULL, and NULL + 0 is undefined */
        gzip->input += taken;
        gzip->input_size -= taken;
    }
    made = OUTPUT_SIZE - gzip->stream.avail_out;
    gzip->crc = (uint32_t)crc32(gzip->crc, gzip->output, (uInt)made);
    gzip->length += (uint32_t)made;

    if (result == Z_STREAM_END) {
        gzip->step = STEP_TRAILER;
    } else if (filled == 0 && !made) {
        gzip->is_cut = true;
        gzip->step = STEP_END;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return set_damaged(err, gzip->stream.msg ? gzip->stream.msg : "invalid deflate data");
    }
    return (ssize_t)made;
}

static void put_little_endian(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

/* With a tolerated tail only the CRC is compared: it covers all of the data, while the length may
 * lack zero bytes or contain stale ones where the Go deployer has split its chunks. */
static int read_trailer(struct gzip *gzip, struct error *err)
{
    unsigned char expected[TRAILER_SIZE], trailer[TRAILER_SIZE];
    size_t size = 0;

    put_little_endian(expected, gzip->crc);
    put_little_endian(expected + CRC_SIZE, gzip->length);
    while (size < TRAILER_SIZE) {
        int filled = fill(gzip, err);

        if (filled < 0)
            return -1;
        if (filled == 0)
            break;
        trailer[size++] = *gzip->input++;
        gzip->input_size--;
    }
    if (size < TRAILER_SIZE && !gzip->is_tail_tolerated)
        return set_damaged(err, "truncated trailer");
    if (memcmp(trailer, expected, size < CRC_SIZE ? size : CRC_SIZE) != 0)
        return set_damaged(err, "checksum mismatch");
    if (!gzip->is_tail_tolerated && memcmp(trailer, expected, TRAILER_SIZE) != 0)
        return set_damaged(err, "length mismatch");
    gzip->step = gzip->is_tail_tolerated ? STEP_END : STEP_BETWEEN;
    return 0;
}

/* Another member may follow, or zeros that tapes and block devices pad with. */
static int read_between(struct gzip *gzip, struct error *err)
{
    for (;;) {
        int filled = fill(gzip, err);

        if (filled < 0)
            return -1;
        if (filled == 0) {
            gzip->step = STEP_END;
            return 0;
        }
        if (*gzip->input == 0x1f) {
            gzip->step = STEP_HEADER;
            return 0;
        }
        if (*gzip->input != 0)
            return set_damaged(err, "trailing garbage");
        gzip->input++;
        gzip->input_size--;
    }
}

ssize_t gzip_read(struct gzip *gzip, const void **ret_bytes, struct error *err)
{
    for (;;) {
        ssize_t size = 0;

        switch (gzip->step) {
        case STEP_HEADER:
            size = read_header(gzip, err);
            break;
        case STEP_DATA:
            size = read_data(gzip, err);
            break;
        case STEP_TRAILER:
            size = read_trailer(gzip, err);
            break;
        case STEP_BETWEEN:
            size = read_between(gzip, err);
            break;
        case STEP_END:
            return 0;
        }
        if (size > 0)
            *ret_bytes = gzip->output;
        if (size != 0)
            return size;
    }
}

/* ---- All at once ---- */

struct whole {
    const void *bytes;
    size_t size;
};

static ssize_t read_whole(void *data, const void **ret_bytes, struct error *err)
{
    struct whole *whole = data;
    size_t size = whole->size;

    (void)err;
    *ret_bytes = whole->bytes;
    whole->size = 0;
    return (ssize_t)size;
}

int gzip_unpack(const void *packed, size_t size, struct buffer *ret_bytes, struct error *err)
{
    struct whole whole = {packed, size};
    struct gzip *gzip = gzip_new(read_whole, &whole, false);
    const void *bytes = NULL;
    ssize_t got = 0;
    int result = 0;

    while (result == 0 && (got = gzip_read(gzip, &bytes, err)) > 0)
        result = buffer_append(ret_bytes, bytes, (size_t)got, err);
    gzip_free(gzip);
    return got < 0 ? -1 : result;
}

int gzip_pack(const void *bytes, size_t size, int level, struct buffer *ret_packed,
              struct error *err)
{
    unsigned char output[4096];
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
    int packed = Z_OK, result = 0;

    if (size > UINT32_MAX)
        return error_set(err, ERROR_TOO_LARGE, "%zu bytes are too many for gzip", size);
    if (deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        out_of_memory();
    while (packed == Z_OK && result == 0) {
        stream.next_out = output;
        stream.avail_out = sizeof(output);
        packed = deflate(&stream, Z_FINISH);
        result = buffer_append(ret_packed, output, sizeof(output) - stream.avail_out, err);
    }
    (void)deflateEnd(&stream);
    return result;
}
