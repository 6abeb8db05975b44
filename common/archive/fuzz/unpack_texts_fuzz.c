/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any archive, texts have no NUL and the budget is not exceeded.
 *
 * The first byte of the input chooses whether Go's tail is tolerated and whether the input is
 * packed already. If not, checksums of tar headers are corrected and it is packed, so that the
 * fuzzer gets past both. */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "common/archive/fuzz/tar_checksum.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/unpack_texts.h"
#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { CHOICE_GO = 1, CHOICE_PACKED = 2, UNPACKED = 1 << 18, TEXT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_text(void *data, const char *name __attribute__((unused)), const char *text,
                       size_t size)
{
    size_t *bytes = data;

    must(text ? size > 0 && strlen(text) == size : size == 0);
    *bytes += size;
}

static uint8_t *pack(const uint8_t *tar, size_t size, size_t *ret_size)
{
    z_stream stream = {0};
    uint8_t *packed = NULL;
    size_t max = 0;

    must(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    max = deflateBound(&stream, size);
    packed = xmalloc(max);
    stream.next_in = (z_const Bytef *)(uintptr_t)tar;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)max;
    must(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    *ret_size = max - stream.avail_out;
    (void)deflateEnd(&stream);
    return packed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size ? data[0] : 0;
    cleanup_free uint8_t *bytes = xmemdup(size ? data + 1 : data, size ? size - 1 : 0);
    cleanup_free uint8_t *packed = NULL;
    struct memory_source source = {
        .bytes = bytes, .size = size ? size - 1 : 0, .piece = 1 + choice * 16U};
    struct text_budget budget = {.unpacked = UNPACKED, .text = TEXT};
    size_t bytes_seen = 0;
    const struct unpack_texts_options options = {.read = memory_source_read,
                                                 .source = &source,
                                                 .is_go_state_tolerated = choice & CHOICE_GO,
                                                 .on_text = count_text,
                                                 .data = &bytes_seen};
    struct error err = {0};

    if (!(choice & CHOICE_PACKED)) {
        mend_checksums(bytes, source.size);
        packed = pack(bytes, source.size, &source.size);
        source.bytes = packed;
    }
    if (unpack_texts(&options, &budget, &err) < 0)
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
    must(budget.unpacked <= UNPACKED && bytes_seen <= TEXT && bytes_seen + budget.text == TEXT);
    return 0;
}
