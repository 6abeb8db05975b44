/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/archive/layer.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

enum { MIB_LOG = 20, ZSTD_BLOCK_MAX = 128 * 1024, XZ_HEADER = 12, XZ_DICTIONARY = XZ_HEADER + 4 };

static struct buffer small_tar(void)
{
    struct buffer tar = {0};

    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "a", .data = "1"});
    tar_builder_end(&tar);
    return tar;
}

/* A frame of one block that is not compressed, but asks for a window of this size. */
static struct buffer zstd_with_window(unsigned log)
{
    cleanup_buffer struct buffer tar = small_tar();
    struct buffer packed = {0};
    uint32_t block = (uint32_t)tar.size << 3 | 1;
    const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0, (unsigned char)((log - 10) << 3)};

    assert_true(tar.size < ZSTD_BLOCK_MAX);
    tar_builder_init(&packed);
    tar_builder_add_bytes(&packed, head, sizeof(head));
    tar_builder_add_bytes(&packed, &block, 3);
    tar_builder_add_bytes(&packed, tar.data, tar.size);
    return packed;
}

/* A valid stream with a modified dictionary size in its block header. */
static struct buffer xz_with_window(unsigned log)
{
    cleanup_buffer struct buffer tar = small_tar();
    struct buffer packed = tar_builder_pack(tar.data, tar.size, TAR_XZ);
    unsigned char *header = (unsigned char *)packed.data + XZ_HEADER;
    uint32_t crc = 0;

    assert_int_equal(header[0], 2); /* 12 bytes: size, flags, filter, its dictionary, zeros, CRC */
    assert_int_equal(header[2], 0x21);
    packed.data[XZ_DICTIONARY] = (char)((log - 12) * 2);
    crc = (uint32_t)crc32(0, header, 8);
    memcpy(header + 8, &crc, sizeof(crc));
    return packed;
}

static int unpack_as_blueprint(struct scratch *scratch, int fd, struct error *err)
{
    const struct unpack_options options = {.policy = UNPACK_BLUEPRINT,
                                           .limits = &ARCHIVE_LIMITS_BLUEPRINT};
    struct unpack_counts counts = {0};

    return unpack_fd(scratch->root_fd, &options, fd, &counts, err);
}

static int unpack_as_layer(struct scratch *scratch, int fd, struct error *err)
{
    const struct layer_options options = {.limits = &ARCHIVE_LIMITS_LAYER};
    struct unpack_counts counts = {0};

    return layer_unpack(scratch->root_fd, &options, fd, &counts, err);
}

static const struct {
    const char *what;
    int (*unpack)(struct scratch *scratch, int fd, struct error *err);
    struct buffer (*pack)(unsigned log);
    unsigned window_max_log;
} windows[] = {
    {"a blueprint in zstd", unpack_as_blueprint, zstd_with_window, 23},
    {"a blueprint in xz", unpack_as_blueprint, xz_with_window, 23},
    {"a layer in zstd", unpack_as_layer, zstd_with_window, 27},
    {"a layer in xz", unpack_as_layer, xz_with_window, 27},
};

static void the_window_limit_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(windows); i++) {
        for (unsigned log = MIB_LOG; log <= 31; log++) {
            cleanup_buffer struct buffer packed = windows[i].pack(log);
            cleanup_close int fd = memfd_create("packed", MFD_CLOEXEC);
            cleanup_scratch struct scratch scratch;
            struct error err = {0};
            bool is_fine = log <= windows[i].window_max_log;

            print_message("%s, window 2^%u\n", windows[i].what, log);
            scratch_init(&scratch);
            assert_int_equal(write(fd, packed.data, packed.size), packed.size);
            assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
            assert_int_equal(windows[i].unpack(&scratch, fd, &err), is_fine ? 0 : -1);
            assert_int_equal(err.kind, is_fine ? ERROR_NONE : ERROR_TOO_LARGE);
            if (!is_fine)
                assert_non_null(strstr(err.text, "window"));
        }
    }
}

/* Every prefix of one stream, and of two in a row. */
static void truncated_streams_are_damaged_and_concatenated_ones_are_read(void **state)
{
    static const enum tar_packing packings[] = {TAR_ZSTD, TAR_XZ};

    (void)state;
    for (size_t i = 0; i < array_length(packings); i++) {
        cleanup_buffer struct buffer tar = small_tar();
        cleanup_buffer struct buffer whole = tar_builder_pack(tar.data, tar.size, packings[i]);

        for (size_t size = 7; size <= 2 * whole.size; size++) {
            cleanup_close int fd = memfd_create("packed", MFD_CLOEXEC);
            cleanup_scratch struct scratch scratch;
            struct error err = {0};
            bool is_fine = size == whole.size || size == 2 * whole.size;
            size_t first = size < whole.size ? size : whole.size;

            scratch_init(&scratch);
            assert_int_equal(write(fd, whole.data, first), first);
            assert_int_equal(write(fd, whole.data, size - first), size - first);
            assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
            if (unpack_as_blueprint(&scratch, fd, &err) != (is_fine ? 0 : -1))
                fail_msg("packing %d, %zu of %zu bytes: %s", (int)packings[i], size, whole.size,
                         err.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_limit_is_exact),
        cmocka_unit_test(truncated_streams_are_damaged_and_concatenated_ones_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
