/* SPDX-License-Identifier: Apache-2.0 */
/* All compressions: complete, truncated, modified and with trailing bytes. */
#include <archive.h>
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

static int unpack_bytes(const struct scratch *scratch, enum unpack_policy policy,
                        const struct archive_limits *limits, const void *bytes, size_t size,
                        struct unpack_counts *ret_counts, struct error *err)
{
    const struct unpack_options options = {.policy = policy, .limits = limits};
    struct memory_source source = {.bytes = bytes, .size = size, .piece = 1000};

    return unpack_stream(scratch->root_fd, &options, memory_source_read, &source, ret_counts, err);
}

static void add_small_tree(struct buffer *tar)
{
    tar_builder_init(tar);
    tar_builder_add(tar, &(struct tar_spec){.name = "d", .type = '5', .mode = 0750});
    tar_builder_add(tar, &(struct tar_spec){.name = "d/f", .data = "contents", .mode = 06755});
    tar_builder_add(tar, &(struct tar_spec){.name = "zero", .data = "0"});
    tar_builder_end(tar);
}

static void every_compression_gives_the_same_tree(void **state)
{
    cleanup_buffer struct buffer tar = {0};

    (void)state;
    add_small_tree(&tar);
    for (int packing = TAR_PLAIN; packing < TAR_PACKINGS; packing++) {
        cleanup_buffer struct buffer packed =
            tar_builder_pack(tar.data, tar.size, (enum tar_packing)packing);
        cleanup_scratch struct scratch scratch;
        cleanup_free char *tree = NULL;
        struct unpack_counts counts = {0};
        struct error err = {0};

        scratch_init(&scratch);
        if (unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, packed.data, packed.size,
                         &counts, &err) < 0)
            fail_msg("packing %d: %s", packing, err.text);
        tree = scratch_describe(scratch.root_fd, false);
        assert_string_equal(tree, "d 40000\nd/f 100000 8 contents\nzero 100000 1 0\n");
        assert_int_equal(counts.entries, 3);
        assert_int_equal(counts.bytes, 9);
    }
}

static void truncated_archives_are_refused_at_every_length(void **state)
{
    cleanup_buffer struct buffer tar = {0};

    (void)state;
    add_small_tree(&tar);
    for (int packing = TAR_PLAIN; packing < TAR_PACKINGS; packing++) {
        cleanup_buffer struct buffer packed =
            tar_builder_pack(tar.data, tar.size, (enum tar_packing)packing);
        size_t step = packing == TAR_PLAIN ? 101 : 1;

        for (size_t size = 0; size < packed.size; size += step) {
            cleanup_scratch struct scratch scratch;
            struct unpack_counts counts = {0};
            struct error err = {0};
            int result = 0;

            scratch_init(&scratch);
            result = unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, packed.data, size,
                                  &counts, &err);
            if (result == 0 || err.kind != ERROR_INVALID)
                fail_msg("packing %d cut at %zu of %zu", packing, size, packed.size);
        }
    }
}

/* Some bits of the last deflate byte are unused, and a changed distance can still copy zeros. */
static void flipped_bytes_of_gzip_are_detected_or_harmless(void **state)
{
    cleanup_buffer struct buffer tar = {0}, packed = {0};
    int unnoticed = 0;

    (void)state;
    add_small_tree(&tar);
    packed = tar_builder_pack(tar.data, tar.size, TAR_GZIP);
    for (size_t i = 10; i < packed.size; i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_free char *tree = NULL;
        struct unpack_counts counts = {0};
        struct error err = {0};

        scratch_init(&scratch);
        packed.data[i] ^= 0x10;
        if (unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, packed.data, packed.size,
                         &counts, &err) == 0) {
            tree = scratch_describe(scratch.root_fd, false);
            assert_string_equal(tree, "d 40000\nd/f 100000 8 contents\nzero 100000 1 0\n");
            unnoticed++;
        }
        packed.data[i] ^= 0x10;
    }
    assert_true(unnoticed < 10);
}

static void trailing_bytes_after_the_archive(void **state)
{
    static const struct {
        const char *name, *tail;
        size_t size;
        bool is_packed, is_fine;
    } tails[] = {
        {"zeros after the archive", "\0\0\0\0", 4, false, true},
        {"bytes after the archive", "tail", 4, false, true},
        {"zeros after gzip", "\0\0\0\0", 4, true, true},
        {"bytes after gzip", "tail", 4, true, false},
        {"another magic after gzip", "\x1f\x1f", 2, true, false},
        {"unknown flags after gzip", "\x1f\x8b\x08\xe0\0\0\0\0\0", 10, true, false},
        {"half a gzip header after gzip", "\x1f\x8b\x08", 3, true, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(tails); i++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0};
        cleanup_scratch struct scratch scratch;
        struct unpack_counts counts = {0};
        struct error err = {0};

        scratch_init(&scratch);
        add_small_tree(&tar);
        if (!tails[i].is_packed)
            tar_builder_add_bytes(&tar, tails[i].tail, tails[i].size);
        packed = tar_builder_pack(tar.data, tar.size, TAR_GZIP);
        if (tails[i].is_packed)
            tar_builder_add_bytes(&packed, tails[i].tail, tails[i].size);
        if ((unpack_bytes(&scratch, UNPACK_BLUEPRINT, &ARCHIVE_LIMITS_BLUEPRINT, packed.data,
                          packed.size, &counts, &err) == 0) != tails[i].is_fine)
            fail_msg("%s: %s", tails[i].name, err.text);
    }
}

static void gzip_of_several_members_is_one_stream(void **state)
{
    cleanup_buffer struct buffer tar = {0}, first = {0}, second = {0};
    cleanup_scratch struct scratch scratch;
    struct unpack_counts counts = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    add_small_tree(&tar);
    first = tar_builder_pack(tar.data, 700, TAR_GZIP);
    second = tar_builder_pack(tar.data + 700, tar.size - 700, TAR_GZIP);
    tar_builder_add_bytes(&first, second.data, second.size);
    assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, first.data,
                                  first.size, &counts, &err),
                     0);
    assert_int_equal(counts.entries, 3);
}

/* ---- a source that fails ---- */

struct failing_source {
    struct memory_source source;
    size_t good; /* bytes before it fails */
};

static ssize_t read_until_it_fails(void *data, const void **ret_bytes, struct error *err)
{
    struct failing_source *failing = data;

    if (failing->source.place >= failing->good)
        return error_set(err, ERROR_TEMPORARY, "the source is gone");
    return memory_source_read(&failing->source, ret_bytes, err);
}

static void unpack_while_it_fails(const struct scratch *scratch, const struct buffer *packed,
                                  size_t good, size_t piece)
{
    const struct unpack_options options = {.policy = UNPACK_STATE, .limits = &ARCHIVE_LIMITS_STATE};
    struct failing_source failing = {
        .source = {.bytes = packed->data, .size = packed->size, .piece = piece}, .good = good};
    struct unpack_counts counts = {0};
    struct error err = {0};

    assert_int_equal(
        unpack_stream(scratch->root_fd, &options, read_until_it_fails, &failing, &counts, &err),
        -1);
    if (err.kind != ERROR_TEMPORARY || !strstr(err.text, "the source is gone"))
        fail_msg("after %zu bytes: %s", good, err.text);
}

/* Extra field, name, comment and checksum: every optional part of a header. */
static struct buffer gzip_with_a_full_header(const struct buffer *plain_gzip)
{
    static const char header[] = "\x1f\x8b\x08\x1e\0\0\0\0\0\xff\x03\0abcname\0comment\0xx";
    struct buffer packed = {0};

    tar_builder_init(&packed);
    tar_builder_add_bytes(&packed, header, sizeof(header) - 1);
    tar_builder_add_bytes(&packed, plain_gzip->data + 10, plain_gzip->size - 10);
    return packed;
}

static void an_error_of_the_source_is_returned_at_every_offset(void **state)
{
    cleanup_buffer struct buffer tar = {0}, gzip = {0}, full = {0};
    cleanup_scratch struct scratch scratch;

    (void)state;
    scratch_init(&scratch);
    add_small_tree(&tar);
    for (int packing = TAR_PLAIN; packing < TAR_PACKINGS; packing++) {
        cleanup_buffer struct buffer packed =
            tar_builder_pack(tar.data, tar.size, (enum tar_packing)packing);

        for (size_t good = 0; good <= packed.size; good += packing == TAR_PLAIN ? 101 : 1)
            unpack_while_it_fails(&scratch, &packed, good, 1);
    }
    gzip = tar_builder_pack(tar.data, tar.size, TAR_GZIP);
    full = gzip_with_a_full_header(&gzip);
    for (size_t good = 0; good <= full.size; good++)
        unpack_while_it_fails(&scratch, &full, good, 1);
}

/* ---- bzip2 ---- */

static bool is_bzip2_missing;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
int __real_archive_read_support_filter_bzip2(struct archive *archive);
int __wrap_archive_read_support_filter_bzip2(struct archive *archive);
int __wrap_archive_read_support_filter_bzip2(struct archive *archive)
{
    return is_bzip2_missing ? ARCHIVE_WARN : __real_archive_read_support_filter_bzip2(archive);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void a_libarchive_without_bzip2_is_reported(void **state)
{
    cleanup_buffer struct buffer tar = {0}, packed = {0};
    cleanup_scratch struct scratch scratch;
    struct unpack_counts counts = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    add_small_tree(&tar);
    packed = tar_builder_pack(tar.data, tar.size, TAR_BZIP2);
    is_bzip2_missing = true;
    assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, packed.data,
                                  packed.size, &counts, &err),
                     -1);
    is_bzip2_missing = false;
    assert_int_equal(err.kind, ERROR_INTERNAL);
    assert_string_equal(err.text, "libarchive was built without bzip2");
}

/* More than one block of bzip2, so that the damage is found after the archive was opened. */
static void damage_in_a_later_block_of_bzip2_is_detected(void **state)
{
    cleanup_free char *noise = xmalloc(2000001);
    cleanup_buffer struct buffer tar = {0}, packed = {0};
    cleanup_scratch struct scratch scratch;
    struct unpack_counts counts = {0};
    struct error err = {0};
    uint32_t state_of_noise = 1;

    (void)state;
    for (size_t i = 0; i < 2000000; i++) {
        state_of_noise = state_of_noise * 1664525 + 1013904223;
        noise[i] = (char)('0' + (state_of_noise >> 24) % 64);
    }
    noise[2000000] = '\0';
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "noise", .data = noise});
    tar_builder_end(&tar);
    packed = tar_builder_pack(tar.data, tar.size, TAR_BZIP2);
    scratch_init(&scratch);
    unpack_while_it_fails(&scratch, &packed, packed.size * 3 / 4, 65536);
    packed.data[packed.size * 3 / 4] ^= 0x10;
    assert_int_equal(unpack_bytes(&scratch, UNPACK_STATE, &ARCHIVE_LIMITS_STATE, packed.data,
                                  packed.size, &counts, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "compressed archive is damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_compression_gives_the_same_tree),
        cmocka_unit_test(truncated_archives_are_refused_at_every_length),
        cmocka_unit_test(flipped_bytes_of_gzip_are_detected_or_harmless),
        cmocka_unit_test(trailing_bytes_after_the_archive),
        cmocka_unit_test(gzip_of_several_members_is_one_stream),
        cmocka_unit_test(an_error_of_the_source_is_returned_at_every_offset),
        cmocka_unit_test(a_libarchive_without_bzip2_is_reported),
        cmocka_unit_test(damage_in_a_later_block_of_bzip2_is_detected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
