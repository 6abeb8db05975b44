/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack_texts.h"
#include "common/base/memory.h"

enum { BLOCK_SIZE = 512, SIZE_AT = 124, SIZE_LENGTH = 12, CHECKSUM_AT = 148, PLENTY = 1 << 20 };

#define LONG_NAME                                                                                  \
    "a-name-that-is-longer-than-the-hundred-bytes-of-a-header-a-name-that-is-longer-than-the-"     \
    "hundred-bytes-of-a-header"

/* Appends each text in brackets. */
static void note(void *data, const char *name __attribute__((unused)), const char *text,
                 size_t size)
{
    struct buffer *found = data;
    struct error err = {0};

    if (text) {
        assert_int_equal(strlen(text), size);
        assert_true(size > 0);
    }
    assert_int_equal(buffer_append_text(found, &err, "[%s]", text ? text : "a NUL"), 0);
}

static int find_with(const struct buffer *packed, bool is_go, struct text_budget *budget,
                     struct buffer *ret_found, struct error *err)
{
    struct memory_source source = {.bytes = packed->data, .size = packed->size, .piece = 7};
    const struct unpack_texts_options options = {.read = memory_source_read,
                                                 .source = &source,
                                                 .is_go_state_tolerated = is_go,
                                                 .on_text = note,
                                                 .data = ret_found};

    buffer_init(ret_found, PLENTY);
    return unpack_texts(&options, budget, err);
}

static int find(const struct buffer *packed, bool is_go, struct buffer *ret_found,
                struct error *err)
{
    struct text_budget budget = {.unpacked = PLENTY, .text = PLENTY};

    return find_with(packed, is_go, &budget, ret_found, err);
}

static struct buffer pack(const struct buffer *tar)
{
    return tar_builder_pack(tar->data, tar->size, TAR_GZIP);
}

static void mend_checksum(char *block)
{
    unsigned sum = 8 * ' ';

    for (size_t i = 0; i < BLOCK_SIZE; i++)
        sum += i >= CHECKSUM_AT && i < CHECKSUM_AT + 8 ? 0 : (unsigned char)block[i];
    (void)snprintf(block + CHECKSUM_AT, 8, "%06o", sum & 0777777);
    block[CHECKSUM_AT + 7] = ' ';
}

/* Every kind of entry that state has. */
static void build(struct buffer *tar)
{
    static const struct tar_spec specs[] = {
        {.name = "d", .type = '5', .mode = 0755},
        {.name = "d/one", .data = "first text\n"},
        {.name = "d/link", .type = '2', .target = "one"},
        {.name = "d/hard", .type = '1', .target = "d/one"},
        {.name = "empty", .data = ""},
        {.name = "timed", .data = "second", .pax = "mtime=1.5\npath=a size=5\n"},
        {.name = "cut", .data = "third", .gnu_name = LONG_NAME},
        {.name = "cut", .data = "f\x1bourth \xff", .pax = "path=" LONG_NAME "\n"},
    };

    tar_builder_init(tar);
    for (size_t i = 0; i < array_length(specs); i++)
        tar_builder_add(tar, &specs[i]);
}
#define ALL "[first text\n][second][third][f\x1bourth \xff]"

static void the_texts_of_an_archive_are_found(void **state)
{
    cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0}, again = {0};
    struct error err = {0};

    (void)state;
    build(&tar);
    tar_builder_end(&tar);
    packed = pack(&tar);
    assert_int_equal(find(&packed, false, &found, &err), 0);
    assert_string_equal(found.data, ALL);
    assert_int_equal(find(&packed, true, &again, &err), 0);
    assert_string_equal(again.data, ALL);
}

static void a_file_with_a_nul_is_not_text(void **state)
{
    static const char bytes[BLOCK_SIZE + 8] = {'t', 'e', 'x', 't', '\0', 'm', 'o', 'r', 'e'};
    cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
    struct text_budget budget = {.unpacked = PLENTY, .text = 5};
    struct error err = {0};

    (void)state;
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "binary", .size = sizeof(bytes)});
    tar_builder_add_bytes(&tar, bytes, sizeof(bytes));
    tar_builder_add_bytes(&tar, bytes + 16, BLOCK_SIZE - sizeof(bytes) % BLOCK_SIZE);
    tar_builder_add(&tar, &(struct tar_spec){.name = "text", .data = "after"});
    tar_builder_end(&tar);
    packed = pack(&tar);
    /* It does not count for the text budget. */
    assert_int_equal(find_with(&packed, false, &budget, &found, &err), 0);
    assert_string_equal(found.data, "[a NUL][after]");
    assert_int_equal(budget.text, 0);
}

/* Truncates the gzip stream, and the tar inside of it. */
static void a_truncated_archive_is_damaged_at_every_length(void **state)
{
    cleanup_buffer struct buffer tar = {0}, whole = {0};
    size_t tar_size = 0, packed_size = 0;
    int fine = 0;

    (void)state;
    build(&tar);
    tar_builder_end(&tar);
    tar_size = tar.size;
    whole = pack(&tar);
    packed_size = whole.size;
    for (whole.size = 0; whole.size < packed_size; whole.size++) {
        cleanup_buffer struct buffer found = {0}, of_go = {0};
        struct error err = {0};

        assert_int_equal(find(&whole, false, &found, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        /* State of the Go deployer may lack the trailer, but nothing before it. */
        if (find(&whole, true, &of_go, &err) == 0) {
            assert_string_equal(of_go.data, ALL);
            fine++;
        }
    }
    assert_in_range(fine, 8, 20);
    for (tar.size = 0; tar.size < tar_size; tar.size++) {
        cleanup_buffer struct buffer packed = pack(&tar), found = {0};
        struct error err = {0};

        assert_int_equal(find(&packed, tar.size % 2, &found, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_true(!found.size || strncmp(ALL, found.data, found.size) == 0);
    }
}

/* The size field of the only file, whose text has 5 bytes. */
static const struct {
    const char *name;
    const char size[SIZE_LENGTH + 1];
    enum error_kind kind;
} sizes[] = {
    {"octal", "00000000005\0", ERROR_NONE},
    {"octal, with blanks", "          5 ", ERROR_NONE},
    {"octal, twelve digits", "000000000005", ERROR_NONE},
    {"base 256", "\x80\0\0\0\0\0\0\0\0\0\0\x05", ERROR_NONE},
    {"less than there is", "00000000004\0", ERROR_NONE},
    {"more, and the end is text", "00000003005\0", ERROR_INVALID},
    {"more than there is", "00000100000\0", ERROR_INVALID},
    {"much more than there is", "77777777777\0", ERROR_INVALID},
    {"base 256, all that a number holds", "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
     ERROR_INVALID},
    {"negative", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ERROR_INVALID},
};

static void sizes_in_headers_are_checked_against_the_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
        struct error err = {0};

        tar_builder_init(&tar);
        tar_builder_add(&tar, &(struct tar_spec){.name = "a", .data = "text\n"});
        memcpy(tar.data + SIZE_AT, sizes[i].size, SIZE_LENGTH);
        mend_checksum(tar.data);
        tar_builder_end(&tar);
        packed = pack(&tar);
        (void)!find(&packed, false, &found, &err);
        if (err.kind != sizes[i].kind)
            fail_msg("%s: %d, %s", sizes[i].name, (int)err.kind, err.text);
    }
}

static const struct {
    const char *name;
    struct tar_spec spec;
    enum error_kind kind;
} entries[] = {
    {"a device", {.name = "a", .type = '3'}, ERROR_INVALID},
    {"a FIFO", {.name = "a", .type = '6'}, ERROR_INVALID},
    {"a sparse file",
     {.name = "a",
      .data = "t",
      .pax = "GNU.sparse.size=4\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n"},
     ERROR_INVALID},
    {"a sparse file that begins with a hole",
     {.name = "a",
      .data = "t",
      .pax = "GNU.sparse.size=4\nGNU.sparse.numblocks=1\nGNU.sparse.map=3,1\n"},
     ERROR_INVALID},
    {"an oversized header", {.name = "a", .type = 'L', .size = 1 << 19}, ERROR_INVALID},
    {"pax of lies", {.name = "a", .type = 'x', .data = "99 path=5\n"}, ERROR_INVALID},
    {"pax for all", {.name = "a", .type = 'g', .data = "9 path=5\n"}, ERROR_NONE},
};

static void entries_that_state_never_has_are_invalid(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(entries); i++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
        struct error err = {0};

        tar_builder_init(&tar);
        tar_builder_add(&tar, &entries[i].spec);
        tar_builder_end(&tar);
        packed = pack(&tar);
        (void)!find(&packed, false, &found, &err);
        if (err.kind != entries[i].kind)
            fail_msg("%s: %d, %s", entries[i].name, (int)err.kind, err.text);
        assert_int_equal(found.size, 0);
    }
}

static void every_changed_bit_of_a_header_is_detected(void **state)
{
    (void)state;
    for (size_t at = 0; at < BLOCK_SIZE; at++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
        struct error err = {0};

        tar_builder_init(&tar);
        tar_builder_add(&tar, &(struct tar_spec){.name = "a", .data = "text"});
        tar_builder_end(&tar);
        tar.data[at] ^= 4;
        packed = pack(&tar);
        /* The last two bytes of the checksum field are not checked. */
        if (at < CHECKSUM_AT + 6 || at >= CHECKSUM_AT + 8)
            assert_int_equal(find(&packed, false, &found, &err), -1);
    }
}

static void compression_other_than_gzip_is_refused(void **state)
{
    (void)state;
    for (enum tar_packing packing = TAR_PLAIN; packing < TAR_PACKINGS; packing++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
        struct error err = {0};

        build(&tar);
        tar_builder_end(&tar);
        packed = tar_builder_pack(tar.data, tar.size, packing);
        if (packing == TAR_GZIP)
            continue;
        assert_int_equal(find(&packed, false, &found, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(found.size, 0);
    }
}

/* One byte less of either is an error. */
static void the_budget_is_exact(void **state)
{
    cleanup_buffer struct buffer tar = {0}, packed = {0};
    size_t text = strlen(ALL) - 8;

    (void)state;
    build(&tar);
    tar_builder_end(&tar);
    packed = pack(&tar);
    for (int less = 0; less < 3; less++) {
        cleanup_buffer struct buffer found = {0};
        struct text_budget budget = {.unpacked = tar.size - (less == 1),
                                     .text = text - (less == 2)};
        struct error err = {0};
        int result = find_with(&packed, false, &budget, &found, &err);

        assert_int_equal(result, less ? -1 : 0);
        if (less)
            assert_int_equal(err.kind, ERROR_TOO_LARGE);
        else
            assert_true(budget.unpacked == 0 && budget.text == 0);
    }
}

/* 64 MiB of zeros in 64 KiB: as a file, and after the end of the archive. */
static void a_bomb_costs_no_more_than_the_budget(void **state)
{
    enum { BOMB = 64 << 20 };
    cleanup_free char *zeros = xcalloc(BOMB, 1);

    (void)state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        cleanup_buffer struct buffer tar = {0}, packed = {0}, found = {0};
        struct text_budget budget = {.unpacked = PLENTY, .text = PLENTY};
        struct memory_source source = {.piece = 512};
        const struct unpack_texts_options options = {
            .read = memory_source_read, .source = &source, .on_text = note, .data = &found};
        struct error err = {0};

        tar_builder_init(&tar);
        buffer_init(&found, PLENTY);
        if (is_behind)
            tar_builder_end(&tar);
        else
            tar_builder_add(&tar, &(struct tar_spec){.name = "a", .size = PLENTY / 2});
        tar_builder_add_bytes(&tar, zeros, BOMB);
        packed = pack(&tar);
        source.bytes = packed.data;
        source.size = packed.size;
        assert_int_equal(unpack_texts(&options, &budget, &err), -1);
        if (is_behind)
            assert_int_equal(err.kind, ERROR_TOO_LARGE);
        /* Not much of the source was read. */
        assert_true(source.place < 8192);
        assert_string_equal(is_behind ? "" : "[a NUL]", found.data ? found.data : "");
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

/* Random bytes, and an archive with random changes. */
static void random_bytes_are_reported_as_damage_or_read_within_the_budget(void **state)
{
    cleanup_buffer struct buffer tar = {0};
    uint64_t random = 7;

    (void)state;
    build(&tar);
    tar_builder_end(&tar);
    for (int round = 0; round < 2000; round++) {
        cleanup_free char *bytes = xmemdup(tar.data, tar.size);
        cleanup_buffer struct buffer packed = {0}, found = {0};
        struct text_budget budget = {.unpacked = PLENTY, .text = 64};
        size_t changes = round % 2 ? 1 + next_random(&random) % 8 : tar.size;
        struct error err = {0};

        for (size_t i = 0; i < changes; i++)
            bytes[next_random(&random) % tar.size] = (char)next_random(&random);
        for (size_t at = 0; at < tar.size && next_random(&random) % 4; at += BLOCK_SIZE)
            mend_checksum(bytes + at);
        packed = tar_builder_pack(bytes, tar.size, TAR_GZIP);
        if (round % 5 == 0)
            packed.data[next_random(&random) % packed.size] ^= 0x10;
        if (find_with(&packed, round % 3 == 0, &budget, &found, &err) < 0)
            assert_true(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        assert_true(found.size <= 64 * 3);
    }
}

static ssize_t refuse(void *data, const void **ret_bytes, struct error *err)
{
    (void)data;
    (void)ret_bytes;
    return error_set(err, ERROR_TEMPORARY, "no bytes today");
}

static void an_error_of_the_source_keeps_its_kind(void **state)
{
    cleanup_buffer struct buffer found = {0};
    struct text_budget budget = {.unpacked = PLENTY, .text = PLENTY};
    const struct unpack_texts_options options = {.read = refuse, .on_text = note, .data = &found};
    struct error err = {0};

    (void)state;
    assert_int_equal(unpack_texts(&options, &budget, &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_texts_of_an_archive_are_found),
        cmocka_unit_test(a_file_with_a_nul_is_not_text),
        cmocka_unit_test(a_truncated_archive_is_damaged_at_every_length),
        cmocka_unit_test(sizes_in_headers_are_checked_against_the_data),
        cmocka_unit_test(entries_that_state_never_has_are_invalid),
        cmocka_unit_test(every_changed_bit_of_a_header_is_detected),
        cmocka_unit_test(compression_other_than_gzip_is_refused),
        cmocka_unit_test(the_budget_is_exact),
        cmocka_unit_test(a_bomb_costs_no_more_than_the_budget),
        cmocka_unit_test(random_bytes_are_reported_as_damage_or_read_within_the_budget),
        cmocka_unit_test(an_error_of_the_source_keeps_its_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
