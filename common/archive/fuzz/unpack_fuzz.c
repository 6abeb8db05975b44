/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any archive, nothing outside of the root changes, the limits are enforced, and
 * unpacked state packs to the same bytes twice.
 *
 * The first byte of the input chooses policy, tolerance and the use of openat2. With
 * CHOICE_CHECKSUM the checksums of tar headers are corrected, so that the fuzzer gets past them. */
#include <stdint.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/archive/fuzz/place.h"
#include "common/archive/fuzz/tar_checksum.h"
#include "common/archive/pack.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

enum { CHOICE_STATE = 1, CHOICE_GO = 2, CHOICE_WALK = 4, CHOICE_CHECKSUM = 8 };

static const struct archive_limits limits = {
    .bytes_max = 1 << 20, .file_max = 1 << 19, .entries_max = 64, .depth_max = 8, .ratio_max = 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
    uint64_t bytes, value;
};

static int add_to_sum(void *data, const void *bytes, size_t size, struct error *err)
{
    struct sum *sum = data;
    const uint8_t *from = bytes;

    (void)err;
    for (size_t i = 0; i < size; i++)
        sum->value = (sum->value ^ from[i]) * UINT64_C(1099511628211);
    sum->bytes += size;
    return 0;
}

static void check_packs_alike(int root_fd)
{
    struct sum sums[2] = {{0}, {0}};

    for (size_t i = 0; i < array_length(sums); i++) {
        const struct pack_options options = {
            .limits = &ARCHIVE_LIMITS_STATE, .write = add_to_sum, .data = &sums[i]};
        struct pack_counts counts = {0};
        struct error err = {0};

        /* Modes can make files unreadable, unless we are root. */
        if (pack_tree(root_fd, &options, &counts, &err) < 0) {
            require(err.kind == ERROR_DENIED);
            return;
        }
        require(counts.bytes <= limits.bytes_max && counts.packed_bytes == sums[i].bytes);
    }
    require(sums[0].value == sums[1].value && sums[0].bytes == sums[1].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size ? data[0] : 0;
    cleanup_free uint8_t *tar = xmemdup(size ? data + 1 : data, size ? size - 1 : 0);
    struct memory_source source = {
        .bytes = tar, .size = size ? size - 1 : 0, .piece = 1 + choice * 16U};
    const struct unpack_options options = {
        .policy = choice & CHOICE_STATE ? UNPACK_STATE : UNPACK_BLUEPRINT,
        .limits = &limits,
        .is_go_state_tolerated = choice & CHOICE_GO,
    };
    cleanup_close int root_fd = -1;
    struct unpack_counts counts = {0};
    struct error err = {0};

    beneath_force_walk(choice & CHOICE_WALK);
    if (choice & CHOICE_CHECKSUM)
        mend_checksums(tar, source.size);
    require(beneath_remove_tree(place(), "root", &err) == 0);
    root_fd = beneath_make_directories(place(), "root", &err);
    require(root_fd >= 0);
    if (unpack_stream(root_fd, &options, memory_source_read, &source, &counts, &err) == 0) {
        require(counts.bytes <= limits.bytes_max && counts.entries <= limits.entries_max);
        require(source.place == source.size);
        if (options.policy == UNPACK_STATE)
            check_packs_alike(root_fd);
    } else {
        require(err.kind != ERROR_NONE && err.text[0]);
    }
    place_check();
    return 0;
}
