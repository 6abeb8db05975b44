/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the archive says: texts are texts, the budget holds, and where the archive is taken as
 * whole, libarchive's reader finds the same files in it.
 *
 * The first byte of the input chooses: whether Go's tail is tolerated, whether the input is packed
 * already. If not, checksums of tar headers are put right and it is packed, so that the fuzzer gets
 * past both. */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "common/archive/fuzz/tar_checksum.h"
#include "common/archive/tar_reader.h"
#include "common/archive/tar_text.h"
#include "common/archive/tests/memory_source.h"
#include "common/base/memory.h"
#include "common/fuzz/must.h"

enum { CHOICE_GO = 1, CHOICE_PACKED = 2, UNPACKED = 1 << 18, TEXT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t bytes;
    uint64_t sum; /* of all texts */
};

static void add_to(struct seen *seen, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        seen->sum = (seen->sum ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    seen->bytes += size;
}

static void see(void *data, const char *text, size_t size)
{
    must(size > 0 && strlen(text) == size);
    add_to(data, text, size);
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

/* The file at hand, as libarchive reads it. */
static void see_file(struct tar_reader *reader, struct seen *seen)
{
    cleanup_free char *text = xcalloc(UNPACKED + 1, 1);
    size_t used = 0;
    const void *bytes = NULL;
    uint64_t offset = 0;
    struct error err = {0};
    ssize_t some = 0;

    while ((some = tar_reader_data(reader, &bytes, &offset, &err)) > 0) {
        must(offset == used && used + (size_t)some <= UNPACKED);
        memcpy(text + used, bytes, (size_t)some);
        used += (size_t)some;
    }
    must(some == 0);
    if (!memchr(text, '\0', used))
        add_to(seen, text, used);
}

static void check_against_libarchive(struct memory_source *source, bool is_go,
                                     const struct seen *found)
{
    const struct plain_options options = {.limits = &ARCHIVE_LIMITS_STATE,
                                          .is_tail_tolerated = is_go};
    cleanup_plain struct plain *plain = NULL;
    cleanup_tar_reader struct tar_reader *reader = NULL;
    struct tar_entry entry = {0};
    struct error err = {0};
    struct seen seen = {0};
    int result = 0;

    source->place = 0;
    must(plain_new(&options, memory_source_read, source, &plain, &err) == 0);
    /* It may refuse more, names and modes for example. Such a state is never restored. */
    if (tar_reader_new(plain, &reader, &err) < 0)
        return;
    while ((result = tar_reader_next(reader, &entry, &err)) > 0) {
        if (entry.kind == TAR_FILE)
            see_file(reader, &seen);
    }
    must(result < 0 || (seen.bytes == found->bytes && seen.sum == found->sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size ? data[0] : 0;
    cleanup_free uint8_t *bytes = xmemdup(size ? data + 1 : data, size ? size - 1 : 0);
    cleanup_free uint8_t *packed = NULL;
    struct memory_source source = {
        .bytes = bytes, .size = size ? size - 1 : 0, .piece = 1 + choice * 16U};
    struct tar_text_budget budget = {.unpacked = UNPACKED, .text = TEXT};
    struct seen seen = {0};
    const struct tar_text_options options = {.read = memory_source_read,
                                             .source = &source,
                                             .is_go_state_tolerated = choice & CHOICE_GO,
                                             .on_text = see,
                                             .data = &seen};
    struct error err = {0};

    if (!(choice & CHOICE_PACKED)) {
        mend_checksums(bytes, source.size);
        packed = pack(bytes, source.size, &source.size);
        source.bytes = packed;
    }
    if (tar_text_find(&options, &budget, &err) == 0)
        check_against_libarchive(&source, choice & CHOICE_GO, &seen);
    else
        must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
    must(seen.bytes <= TEXT && seen.bytes + budget.text == TEXT);
    return 0;
}
