/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

enum { MAX_BYTES = 10 };

static const struct {
    const char *name;
    struct tar_spec specs[4];
    const char *wanted;
    enum error_kind kind;
    const char *data;
    size_t size; /* 0: that of data */
} finds[] = {
    {"there", {{.name = "a", .data = "1"}, {.name = "b", .data = "2"}}, "b", ERROR_NONE, "2", 0},
    {"empty", {{.name = "a"}}, "a", ERROR_NONE, "", 0},
    {"with ./ in front", {{.name = "./a", .data = "1"}}, "a", ERROR_NONE, "1", 0},
    {"with / in front", {{.name = "//a", .data = "1"}}, "a", ERROR_NONE, "1", 0},
    {"in a directory", {{.name = "d/a", .data = "1"}}, "d/a", ERROR_NONE, "1", 0},
    {"at the limit", {{.name = "a", .data = "0123456789"}}, "a", ERROR_NONE, "0123456789", 0},
    {"over the limit", {{.name = "a", .data = "0123456789x"}}, "a", ERROR_TOO_LARGE, NULL, 0},
    {"hole at the end",
     {{.name = "a",
       .pax = "GNU.sparse.size=4\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
       .data = "1"}},
     "a",
     ERROR_NONE,
     "1\0\0\0",
     4},
    {"huge hole",
     {{.name = "a",
       .pax = "GNU.sparse.size=1099511627776\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
       .data = "1"}},
     "a",
     ERROR_TOO_LARGE,
     NULL,
     0},
    {"sparse map past the end",
     {{.name = "a",
       .pax = "GNU.sparse.size=3\nGNU.sparse.numblocks=1\nGNU.sparse.map=1099511627776,1\n",
       .data = "1"}},
     "a",
     ERROR_INVALID,
     NULL,
     0},
    {"not there", {{.name = "a", .data = "1"}}, "b", ERROR_NOT_FOUND, NULL, 0},
    {"part of a name", {{.name = "ab", .data = "1"}}, "a", ERROR_NOT_FOUND, NULL, 0},
    {"directory", {{.name = "a", .type = '5'}}, "a", ERROR_NOT_FOUND, NULL, 0},
    {"link", {{.name = "a", .type = '2', .target = "b"}}, "a", ERROR_NOT_FOUND, NULL, 0},
    {"twice",
     {{.name = "a", .data = "1"}, {.name = "./a", .data = "2"}},
     "a",
     ERROR_INVALID,
     NULL,
     0},
    {"huge neighbour", {{.name = "b", .size = 99999}}, "a", ERROR_INVALID, NULL, 0},
};

static void finds_a_file_with_every_compression(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(finds); i++) {
        for (int packing = TAR_PLAIN; packing < TAR_PACKINGS; packing++) {
            cleanup_buffer struct buffer tar = {0}, packed = {0};
            cleanup_free char *data = NULL;
            struct error err = {0};
            size_t size = 0, expected = 0;

            tar_builder_init(&tar);
            for (size_t j = 0; j < array_length(finds[i].specs) && finds[i].specs[j].name; j++)
                tar_builder_add(&tar, &finds[i].specs[j]);
            tar_builder_end(&tar);
            packed = tar_builder_pack(tar.data, tar.size, (enum tar_packing)packing);
            (void)!unpack_find_file(packed.data, packed.size, finds[i].wanted, MAX_BYTES, &data,
                                    &size, &err);
            if (err.kind != finds[i].kind)
                fail_msg("%s, packing %d: %s", finds[i].name, packing, err.text);
            if (!finds[i].data) {
                assert_null(data);
                continue;
            }
            expected = finds[i].size ? finds[i].size : strlen(finds[i].data);
            assert_int_equal(size, expected);
            assert_memory_equal(data, finds[i].data, expected + 1); /* and a NUL after it */
        }
    }
}

static void input_that_is_not_an_archive_is_invalid(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "{\"json\": true}",
                                        "\x1f\x8b",
                                        "\x1f\x8b\x08\x04",
                                        "\x28\xb5\x2f\xfd",
                                        "BZh9",
                                        "\xfd\x37zXZ"};

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        struct error err = {0};
        char *data = NULL;
        size_t size = 0;

        assert_int_equal(
            unpack_find_file(texts[i], strlen(texts[i]), "a", MAX_BYTES, &data, &size, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

static void a_file_with_truncated_data_is_invalid(void **state)
{
    cleanup_buffer struct buffer tar = {0};
    struct error err = {0};
    char *data = NULL;
    size_t size = 0;

    (void)state;
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "a", .size = MAX_BYTES});
    assert_int_equal(unpack_find_file(tar.data, tar.size, "a", MAX_BYTES, &data, &size, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "archive is damaged"));
    assert_null(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_file_with_every_compression),
        cmocka_unit_test(input_that_is_not_an_archive_is_invalid),
        cmocka_unit_test(a_file_with_truncated_data_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
