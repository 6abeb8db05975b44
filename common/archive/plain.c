/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/plain.h"

#include <archive.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/archive/decoder.h"
#include "common/archive/gzip.h"
#include "common/base/memory.h"

/* The ratio of small archives is meaningless: a tar of one short file is mostly zeros. */
#define RATIO_FROM_BYTES (UINT64_C(1) << 20)
/* Allowance for headers, padding and trailing blocks. */
#define OVERHEAD_BYTES (UINT64_C(16) << 20)
#define OVERHEAD_ENTRY_BYTES UINT64_C(4096)

enum { HEAD_SIZE = 6 }; /* length of the longest magic (xz) */
enum { PIECE_SIZE = 64 * 1024 };

struct plain {
    struct plain_options options;
    unpack_read_fn *read;
    void *data;

    unsigned char head[HEAD_SIZE]; /* checked for the magic, returned first */
    size_t head_size;
    bool is_head_given;
    const void *rest; /* unused rest of the source's last piece */
    size_t rest_size;
    bool is_source_ended;

    /* At most one of these; none if the stream is not compressed. */
    struct gzip *gzip;
    struct decoder *decoder; /* zstd, xz */
    struct archive *bzip2;
    uint64_t packed_bytes, plain_bytes, allowance;
    struct error failure; /* the first one */
};

/* The packed bytes, the head first. */
static ssize_t read_packed(struct plain *plain, const void **ret_bytes, struct error *err)
{
    ssize_t size = 0;

    if (!plain->is_head_given) {
        plain->is_head_given = true;
        *ret_bytes = plain->head;
        if (plain->head_size)
            return (ssize_t)plain->head_size;
    }
    if (plain->rest_size) {
        *ret_bytes = plain->rest;
        size = (ssize_t)plain->rest_size;
        plain->rest_size = 0;
        return size;
    }
    if (plain->is_source_ended)
        return 0;
    size = plain->read(plain->data, ret_bytes, err);
    if (size > 0)
        plain->packed_bytes += (uint64_t)size;
    else if (size == 0)
        plain->is_source_ended = true;
    return size;
}

/* In pieces of the size that decoders return, so that the allowance works with any source. */
static ssize_t read_as_it_is(struct plain *plain, const void **ret_bytes, struct error *err)
{
    ssize_t size = read_packed(plain, ret_bytes, err);

    if (size <= PIECE_SIZE)
        return size;
    plain->rest = (const char *)*ret_bytes + PIECE_SIZE;
    plain->rest_size = (size_t)size - PIECE_SIZE;
    return PIECE_SIZE;
}

static int read_head(struct plain *plain, struct error *err)
{
    while (plain->head_size < HEAD_SIZE) {
        const void *bytes = NULL;
        ssize_t size = plain->read(plain->data, &bytes, err);
        size_t taken = HEAD_SIZE - plain->head_size;

        if (size < 0)
            return -1;
        if (size == 0) {
            plain->is_source_ended = true;
            break;
        }
        if (taken > (size_t)size)
            taken = (size_t)size;
        memcpy(plain->head + plain->head_size, bytes, taken);
        plain->head_size += taken;
        plain->packed_bytes += (uint64_t)size;
        plain->rest = (const char *)bytes + taken;
        plain->rest_size = (size_t)size - taken;
    }
    return 0;
}

static ssize_t give_packed(void *data, const void **ret_bytes, struct error *err)
{
    return read_packed(data, ret_bytes, err);
}

static la_ssize_t bzip2_read_packed(struct archive *bzip2, void *data, const void **ret_bytes)
{
    struct plain *plain = data;
    ssize_t size = read_packed(plain, ret_bytes, &plain->failure);

    if (size < 0)
        archive_set_error(bzip2, EIO, "source");
    return size;
}

/* libarchive's "raw" format presents the decompressed stream as a single entry. */
static int open_bzip2(struct plain *plain, struct error *err)
{
    struct archive_entry *entry = NULL;

    plain->bzip2 = archive_read_new();
    if (!plain->bzip2 || archive_read_support_format_raw(plain->bzip2) != ARCHIVE_OK)
        out_of_memory();
    if (archive_read_support_filter_bzip2(plain->bzip2) != ARCHIVE_OK)
        return error_set(err, ERROR_INTERNAL, "libarchive was built without bzip2");
    if (archive_read_open(plain->bzip2, plain, NULL, bzip2_read_packed, NULL) != ARCHIVE_OK ||
        archive_read_next_header(plain->bzip2, &entry) != ARCHIVE_OK) {
        if (plain->failure.kind != ERROR_NONE) {
            *err = plain->failure;
            return -1;
        }
        return error_set(err, ERROR_INVALID, "compressed archive is damaged");
    }
    return 0;
}

static bool has_magic(const struct plain *plain, const char *bytes, size_t size)
{
    return plain->head_size >= size && memcmp(plain->head, bytes, size) == 0;
}

static int open_stream(struct plain *plain, struct error *err)
{
    uint64_t window = plain->options.limits->window_max;

    if (window == 0)
        window = ARCHIVE_WINDOW_DEFAULT;
    if (read_head(plain, err) < 0)
        return -1;
    if (!plain->head_size)
        return error_set(err, ERROR_INVALID, "archive is empty");
    if (plain->options.is_gzip_only && !has_magic(plain, "\x1f\x8b", 2))
        return error_set(err, ERROR_INVALID, "archive is not compressed with gzip");
    if (has_magic(plain, "\x1f\x8b", 2))
        plain->gzip = gzip_new(give_packed, plain, plain->options.is_tail_tolerated);
    else if (has_magic(plain, "\x28\xb5\x2f\xfd", 4))
        plain->decoder = decoder_new(DECODER_ZSTD, window, give_packed, plain);
    else if (has_magic(plain, "\xfd\x37zXZ", 6))
        plain->decoder = decoder_new(DECODER_XZ, window, give_packed, plain);
    else if (has_magic(plain, "BZh", 3))
        return open_bzip2(plain, err);
    return 0;
}

int plain_new(const struct plain_options *options, unpack_read_fn *read, void *data,
              struct plain **ret_plain, struct error *err)
{
    cleanup_plain struct plain *plain = xcalloc(1, sizeof(*plain));

    plain->options = *options;
    plain->read = read;
    plain->data = data;
    plain->allowance = UINT64_MAX;
    if (open_stream(plain, err) < 0)
        return -1;
    *ret_plain = steal(&plain);
    return 0;
}

void plain_free(struct plain *plain)
{
    if (!plain)
        return;
    gzip_free(plain->gzip);
    decoder_free(plain->decoder);
    if (plain->bzip2)
        (void)archive_read_free(plain->bzip2);
    free(plain);
}

static ssize_t read_bzip2(struct plain *plain, const void **ret_bytes, struct error *err)
{
    la_int64_t offset = 0;
    size_t size = 0;
    int result = ARCHIVE_OK;

    do {
        result = archive_read_data_block(plain->bzip2, ret_bytes, &size, &offset);
    } while (result == ARCHIVE_OK && size == 0);
    if (result == ARCHIVE_OK)
        return (ssize_t)size;
    if (result == ARCHIVE_EOF)
        return 0;
    if (plain->failure.kind != ERROR_NONE) {
        *err = plain->failure;
        return -1;
    }
    return error_set(err, ERROR_INVALID, "compressed archive is damaged");
}

static int check_limits(const struct plain *plain, struct error *err)
{
    const struct archive_limits *limits = plain->options.limits;
    uint64_t max = limits->bytes_max + OVERHEAD_BYTES;

    if (plain->options.plain_max)
        max = plain->options.plain_max;
    else if (limits->entries_max < UINT64_MAX / OVERHEAD_ENTRY_BYTES)
        max += limits->entries_max * OVERHEAD_ENTRY_BYTES;
    if (plain->plain_bytes > max)
        return error_set(err, ERROR_TOO_LARGE, "archive unpacks to more than %llu bytes",
                         (unsigned long long)max);
    return plain_check_ratio(plain, plain->plain_bytes, err);
}

int plain_check_ratio(const struct plain *plain, uint64_t unpacked_bytes, struct error *err)
{
    unsigned ratio = plain->options.limits->ratio_max;

    if (!ratio || unpacked_bytes <= RATIO_FROM_BYTES ||
        unpacked_bytes / ratio <= plain->packed_bytes)
        return 0;
    return error_set(err, ERROR_TOO_LARGE, "archive unpacks to more than %u times its size", ratio);
}

static ssize_t read_checked(struct plain *plain, const void **ret_bytes, struct error *err)
{
    ssize_t size = plain->gzip      ? gzip_read(plain->gzip, ret_bytes, err)
                   : plain->decoder ? decoder_read(plain->decoder, ret_bytes, err)
                   : plain->bzip2   ? read_bzip2(plain, ret_bytes, err)
                                    : read_as_it_is(plain, ret_bytes, err);

    if (size <= 0)
        return size;
    plain->plain_bytes += (uint64_t)size;
    if (check_limits(plain, err) < 0) {
        plain->plain_bytes -= (uint64_t)size;
        return -1;
    }
    if (plain->allowance != UINT64_MAX) {
        /* A piece that exceeds it is still returned, since a reader may read ahead. */
        if (!plain->allowance)
            return error_set(err, ERROR_TOO_LARGE, "archive has an oversized header");
        plain->allowance -= (uint64_t)size < plain->allowance ? (uint64_t)size : plain->allowance;
    }
    return size;
}

ssize_t plain_read(struct plain *plain, const void **ret_bytes, struct error *err)
{
    ssize_t size = -1;

    if (plain->failure.kind == ERROR_NONE)
        size = read_checked(plain, ret_bytes, err);
    if (size < 0 && plain->failure.kind == ERROR_NONE)
        plain->failure = *err;
    else if (size < 0)
        *err = plain->failure;
    return size;
}

void plain_set_allowance(struct plain *plain, uint64_t bytes)
{
    plain->allowance = bytes;
}

uint64_t plain_bytes(const struct plain *plain)
{
    return plain->plain_bytes;
}

bool plain_is_cut(const struct plain *plain)
{
    return plain->gzip && gzip_is_cut(plain->gzip);
}

int plain_drain(struct plain *plain, struct error *err)
{
    const void *bytes = NULL;
    ssize_t size = 0;

    plain->allowance = UINT64_MAX;
    while ((size = plain_read(plain, &bytes, err)) > 0)
        continue;
    if (size < 0)
        return -1;
    while ((size = read_packed(plain, &bytes, err)) > 0)
        continue;
    return size < 0 ? -1 : 0;
}

struct fd_source *fd_source_new(int fd)
{
    struct fd_source *source = xmalloc(sizeof(*source));

    source->fd = fd;
    return source;
}

ssize_t fd_source_read(void *data, const void **ret_bytes, struct error *err)
{
    struct fd_source *source = data;
    ssize_t size = 0;

    do {
        size = read(source->fd, source->piece, sizeof(source->piece));
    } while (size < 0 && errno == EINTR);
    if (size < 0)
        return error_set_errno(err, errno, "read the archive");
    *ret_bytes = source->piece;
    return size;
}
