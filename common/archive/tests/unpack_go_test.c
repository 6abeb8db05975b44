/* SPDX-License-Identifier: Apache-2.0 */
/* State archives of the Go deployer. It strips zero bytes from both ends of each chunk and pads the
 * last of several chunks with bytes of the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

static const char tree[] = "d 40000\nd/f 100000 8 contents\ng 100000 1 1\n";

/* One gzip member, as Go writes it: CRC and length in its last eight bytes. */
static struct buffer make_archive(void)
{
    cleanup_buffer struct buffer tar = {0};

    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "d", .type = '5', .mode = 0755});
    tar_builder_add(&tar, &(struct tar_spec){.name = "d/f", .data = "contents"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "g", .data = "1"});
    tar_builder_end(&tar);
    return tar_builder_pack(tar.data, tar.size, TAR_GZIP);
}

static const struct {
    const char *name;
    int cut;          /* bytes removed from the end */
    int flipped;      /* byte changed, counted from the old end; 0: none */
    const char *tail; /* appended */
    bool is_fine, is_fine_if_strict;
} ends[] = {
    {"whole", 0, 0, "", true, true},
    {"length without its zeros, below 64 KiB", 2, 0, "", true, false},
    {"length without its last zero", 1, 0, "", true, false},
    {"CRC only", 4, 0, "", true, false},
    {"half a CRC", 6, 0, "", true, false},
    {"no trailer", 8, 0, "", true, false},
    {"whole, then stale bytes", 0, 0, "stale bytes", true, false},
    {"whole, then a stale gzip header", 0, 0, "\x1f\x8b\x08\x01\x02\x03", true, false},
    {"wrong CRC", 0, 8, "", false, false},
    {"wrong CRC, then stale bytes", 0, 7, "stale bytes", false, false},
    {"wrong CRC, cut length", 2, 5, "", false, false},
    {"wrong CRC, no length", 4, 6, "", false, false},
    {"wrong first byte of half a CRC", 6, 8, "", false, false},
    {"length shifted into stale bytes", 2, 0, "st", true, false},
    {"damaged data", 0, 40, "", false, false},
};

static int unpack_end(const struct scratch *scratch, const struct buffer *packed, bool is_tolerated,
                      struct error *err)
{
    const struct unpack_options options = {.policy = UNPACK_STATE,
                                           .limits = &ARCHIVE_LIMITS_STATE,
                                           .is_go_state_tolerated = is_tolerated};
    struct memory_source source = {.bytes = packed->data, .size = packed->size, .piece = 7};
    struct unpack_counts counts = {0};
    int result =
        unpack_stream(scratch->root_fd, &options, memory_source_read, &source, &counts, err);

    if (result == 0)
        assert_int_equal(source.place, source.size); /* read to its end */
    return result;
}

static void tails_of_the_go_deployer_are_accepted_and_damage_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(ends); i++) {
        for (int is_tolerated = 0; is_tolerated < 2; is_tolerated++) {
            cleanup_buffer struct buffer packed = make_archive();
            cleanup_scratch struct scratch scratch;
            cleanup_free char *found = NULL;
            struct error err = {0};
            int result = 0;

            scratch_init(&scratch);
            if (ends[i].flipped)
                packed.data[packed.size - (size_t)ends[i].flipped] ^= 0x55;
            packed.size -= (size_t)ends[i].cut;
            tar_builder_add_bytes(&packed, ends[i].tail, strlen(ends[i].tail));
            result = unpack_end(&scratch, &packed, is_tolerated, &err);
            if ((result == 0) != (is_tolerated ? ends[i].is_fine : ends[i].is_fine_if_strict) ||
                (result < 0 && err.kind != ERROR_INVALID))
                fail_msg("%s, tolerated %d: %s", ends[i].name, is_tolerated, err.text);
            found = scratch_describe(scratch.root_fd, false);
            if (result == 0)
                assert_string_equal(found, tree);
        }
    }
}

/* A truncated archive is accepted only if its end blocks are complete. */
static void a_truncated_archive_is_complete_or_refused(void **state)
{
    cleanup_buffer struct buffer packed = make_archive();
    size_t whole = packed.size;
    int refused = 0, fine = 0;

    (void)state;
    for (packed.size = 1; packed.size < whole; packed.size++) {
        cleanup_scratch struct scratch scratch;
        cleanup_free char *found = NULL;
        struct error err = {0};

        scratch_init(&scratch);
        if (unpack_end(&scratch, &packed, true, &err) < 0) {
            refused++;
            continue;
        }
        fine++;
        found = scratch_describe(scratch.root_fd, false);
        assert_string_equal(found, tree);
    }
    assert_true(refused > 50);
    assert_in_range(fine, 8, 20); /* the whole trailer and the last bytes of the data */
}

/* Three chunks as the Go deployer uploads them: the last one is padded with the rest of the second.
 */
static void a_padded_last_chunk_is_accepted(void **state)
{
    enum { CHUNK = 60 };
    cleanup_buffer struct buffer packed = make_archive();
    size_t last = packed.size % CHUNK, before = packed.size - last - CHUNK;
    cleanup_scratch struct scratch scratch;
    cleanup_free char *found = NULL, *stale = NULL;
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    assert_true(packed.size > 2 * CHUNK && last > 0);
    stale = xmemdup(packed.data + before + last, CHUNK - last);
    tar_builder_add_bytes(&packed, stale, CHUNK - last);
    assert_int_equal(packed.size % CHUNK, 0);
    assert_int_equal(unpack_end(&scratch, &packed, true, &err), 0);
    found = scratch_describe(scratch.root_fd, false);
    assert_string_equal(found, tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_of_the_go_deployer_are_accepted_and_damage_is_not),
        cmocka_unit_test(a_truncated_archive_is_complete_or_refused),
        cmocka_unit_test(a_padded_last_chunk_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
