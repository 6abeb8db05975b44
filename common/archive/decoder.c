/* SPDX-License-Identifier: Apache-2.0 */
#include "common/archive/decoder.h"

#include <lzma.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "common/base/memory.h"

enum {
    PIECE_SIZE = 64 * 1024,
    /* liblzma's memory besides the dictionary; too little for the next larger dictionary. */
    XZ_EXTRA_BYTES = 1024 * 1024,
};

struct decoder {
    enum decoder_kind kind;
    uint64_t window_max;
    unpack_read_fn *read;
    void *data;

    ZSTD_DStream *zstd;
    lzma_stream xz;
    const void *input; /* unused rest of the last piece of the source */
    size_t input_size;
    bool is_source_ended;
    bool is_between; /* frames or streams: the source may end here */
    char piece[PIECE_SIZE];
};

static unsigned log_of(uint64_t power)
{
    unsigned log = 0;

    while (power >>= 1)
        log++;
    return log;
}

struct decoder *decoder_new(enum decoder_kind kind, uint64_t window_max, unpack_read_fn *read,
                            void *data)
{
    struct decoder *decoder = xcalloc(1, sizeof(*decoder));

    decoder->kind = kind;
    decoder->window_max = window_max;
    decoder->read = read;
    decoder->data = data;
    if (kind == DECODER_ZSTD) {
        decoder->zstd = ZSTD_createDStream();
        if (!decoder->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(
                                  decoder->zstd, ZSTD_d_windowLogMax, (int)log_of(window_max))))
            out_of_memory();
    } else if (lzma_stream_decoder(&decoder->xz, window_max + XZ_EXTRA_BYTES, LZMA_CONCATENATED) !=
               LZMA_OK) {
        out_of_memory();
    }
    return decoder;
}

void decoder_free(struct decoder *decoder)
{
    if (!decoder)
        return;
    (void)ZSTD_freeDStream(decoder->zstd);
    lzma_end(&decoder->xz);
    free(decoder);
}

static int is_damaged(struct error *err)
{
    return error_set(err, ERROR_INVALID, "compressed archive is damaged");
}

static int is_too_wide(const struct decoder *decoder, struct error *err)
{
    return error_set(err, ERROR_TOO_LARGE,
                     "archive needs a decompression window of more than %llu MiB; compress it with "
                     "a smaller one",
                     (unsigned long long)(decoder->window_max >> 20));
}

/* Decodes a part of the input; *ret_size is the number of bytes in the piece, possibly 0. */
static int step_zstd(struct decoder *decoder, size_t *ret_size, struct error *err)
{
    ZSTD_inBuffer in = {.src = decoder->input, .size = decoder->input_size};
    ZSTD_outBuffer out = {.dst = decoder->piece, .size = sizeof(decoder->piece)};
    size_t result = ZSTD_decompressStream(decoder->zstd, &out, &in);

    if (ZSTD_isError(result))
        return ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge
                   ? is_too_wide(decoder, err)
                   : is_damaged(err);
    decoder->input = (const char *)decoder->input + in.pos;
    decoder->input_size -= in.pos;
    /* Without input and output, result is only a hint about the next frame. */
    if (in.pos > 0 || out.pos > 0)
        decoder->is_between = result == 0;
    *ret_size = out.pos;
    return 0;
}

static int step_xz(struct decoder *decoder, size_t *ret_size, struct error *err)
{
    lzma_ret result = LZMA_OK;

    decoder->xz.next_in = decoder->input;
    decoder->xz.avail_in = decoder->input_size;
    decoder->xz.next_out = (uint8_t *)decoder->piece;
    decoder->xz.avail_out = sizeof(decoder->piece);
    result = lzma_code(&decoder->xz, decoder->is_source_ended ? LZMA_FINISH : LZMA_RUN);
    decoder->input = decoder->xz.next_in;
    decoder->input_size = decoder->xz.avail_in;
    *ret_size = sizeof(decoder->piece) - decoder->xz.avail_out;
    if (result == LZMA_MEM_ERROR)
        out_of_memory();
    if (result == LZMA_MEMLIMIT_ERROR)
        return is_too_wide(decoder, err);
    decoder->is_between = result == LZMA_STREAM_END;
    return result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR
               ? 0
               : is_damaged(err);
}

ssize_t decoder_read(struct decoder *decoder, const void **ret_bytes, struct error *err)
{
    for (;;) {
        size_t size = 0;

        if (decoder->input_size == 0 && !decoder->is_source_ended) {
            ssize_t given = decoder->read(decoder->data, &decoder->input, err);

            if (given < 0)
                return -1;
            decoder->input_size = (size_t)given;
            decoder->is_source_ended = given == 0;
        }
        if ((decoder->kind == DECODER_ZSTD ? step_zstd(decoder, &size, err)
                                           : step_xz(decoder, &size, err)) < 0)
            return -1;
        if (size > 0) {
            *ret_bytes = decoder->piece;
            return (ssize_t)size;
        }
        if (decoder->is_source_ended && decoder->input_size == 0)
            return decoder->is_between ? 0 : is_damaged(err);
    }
}
