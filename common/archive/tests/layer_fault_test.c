/* SPDX-License-Identifier: Apache-2.0 */
/* Fails every system call of applying a layer once: it is applied completely, or the failure is
 * reported. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/archive/layer.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"

struct world {
    struct scratch scratch;
    int lower_fd, upper_fd;
    char *wanted;
};

static const struct tar_spec lower[] = {
    {.name = "usr/lib", .type = '5', .mode = 0755},
    {.name = "lib", .type = '2', .target = "usr/lib"},
    {.name = "opaque", .type = '5', .mode = 0755},
    {.name = "opaque/old", .data = "1"},
    {.name = "opaque/older", .data = "2"},
    {.name = "gone", .data = "3"},
    {.name = "file", .data = "4"},
};

static const struct tar_spec upper[] = {
    {.name = "lib/new", .data = "contents"},
    {.name = "opaque/new", .data = "5"},
    {.name = "opaque/.wh..wh..opq"},
    {.name = ".wh.gone"},
    {.name = "file", .type = '5', .mode = 0750},
    {.name = "file/inside", .data = "6"},
    {.name = "hard", .type = '1', .target = "lib/new"},
    {.name = "soft", .type = '2', .target = "file"},
};

static int file_of(const struct tar_spec *specs, size_t count)
{
    cleanup_buffer struct buffer tar = {0};
    cleanup_buffer struct buffer packed = {0};
    int fd = memfd_create("layer", MFD_CLOEXEC);

    tar_builder_init(&tar);
    for (size_t i = 0; i < count; i++)
        tar_builder_add(&tar, &specs[i]);
    tar_builder_end(&tar);
    packed = tar_builder_pack(tar.data, tar.size, TAR_GZIP);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, packed.data, packed.size), (ssize_t)packed.size);
    return fd;
}

static int unpack(const struct world *world, int fd, struct error *err)
{
    const struct layer_options options = {.limits = &ARCHIVE_LIMITS_LAYER};
    struct unpack_counts counts = {0};

    if (lseek(fd, 0, SEEK_SET) != 0)
        return error_set_errno(err, errno, "rewind");
    return layer_unpack(world->scratch.root_fd, &options, fd, &counts, err);
}

static void lay_lower(void *data)
{
    struct world *world = data;
    struct error err = {0};

    scratch_clear(&world->scratch);
    assert_int_equal(unpack(world, world->lower_fd, &err), 0);
}

static int lay_upper(void *data, struct error *err)
{
    const struct world *world = data;

    return unpack(world, world->upper_fd, err);
}

static void check(void *data, int result)
{
    const struct world *world = data;
    cleanup_free char *tree = scratch_describe(world->scratch.root_fd, false);

    if (result == 0)
        assert_string_equal(tree, world->wanted);
}

static void a_layer_is_applied_completely_or_the_failure_is_reported(void **state)
{
    struct world *world = *state;
    struct error err = {0};
    const struct fault_scenario scenario = {
        .name = "layer", .prepare = lay_lower, .run = lay_upper, .check = check, .data = world};

    lay_lower(world);
    assert_int_equal(lay_upper(world, &err), 0);
    world->wanted = scratch_describe(world->scratch.root_fd, false);
    assert_string_equal(world->wanted, "file 40000\nfile/inside 100000 1 6\n"
                                       "hard 100000 8 contents\nlib 120000 -> usr/lib\n"
                                       "opaque 40000\nopaque/new 100000 1 5\n"
                                       "soft 120000 -> file\nusr 40000\nusr/lib 40000\n"
                                       "usr/lib/new 100000 8 contents\n");
    assert_true(fault_sweep(&scenario) >= 40);
}

static int setup(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    scratch_init(&world->scratch);
    world->lower_fd = file_of(lower, array_length(lower));
    world->upper_fd = file_of(upper, array_length(upper));
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    (void)fault_disarm();
    (void)close(world->lower_fd);
    (void)close(world->upper_fd);
    scratch_done(&world->scratch);
    free(world->wanted);
    free(world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_layer_is_applied_completely_or_the_failure_is_reported,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
