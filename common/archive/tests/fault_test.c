/* SPDX-License-Identifier: Apache-2.0 */
/* Fails every system call of unpacking, packing, writing and removing once: the failure is
 * reported, no descriptor leaks, and atomic operations stay atomic. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/pack.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"

struct world {
    struct scratch scratch;
    struct buffer packed; /* what is unpacked, or the result of packing */
    char *wanted;         /* root/ as it is when nothing fails, or the packed bytes */
    size_t wanted_size;
    int packed_fd;
    enum unpack_policy policy;
};

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names. */
int __real_deflate(z_stream *stream, int flush);
int __wrap_deflate(z_stream *stream, int flush);
int __wrap_deflate(z_stream *stream, int flush)
{
    return fault_occurs("deflate") ? Z_STREAM_ERROR : __real_deflate(stream, flush);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int setup(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    scratch_init(&world->scratch);
    world->packed_fd = -1;
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    (void)fault_disarm();
    beneath_force_walk(false);
    scratch_done(&world->scratch);
    buffer_done(&world->packed);
    free(world->wanted);
    if (world->packed_fd >= 0)
        (void)close(world->packed_fd);
    free(world);
    return 0;
}

static void clear(void *data)
{
    struct world *world = data;

    scratch_clear(&world->scratch);
}

static char *describe(const struct world *world)
{
    return scratch_describe(world->scratch.root_fd, false);
}

/* ---- one file, all or nothing ---- */

static void prepare_old_file(void *data)
{
    struct world *world = data;

    clear(world);
    assert_int_equal(mkdirat(world->scratch.root_fd, "a", 0755), 0);
    scratch_write(world->scratch.root_fd, "a/file", "old");
}

static int write_new_file(void *data, struct error *err)
{
    struct world *world = data;

    return beneath_write_file(world->scratch.root_fd, "a/file", "new", 3, 0644, err);
}

static void check_old_or_new(void *data, int result)
{
    struct world *world = data;
    cleanup_free char *text = scratch_read(world->scratch.root_fd, "a/file");
    cleanup_free char *all = describe(world);

    assert_non_null(text);
    assert_string_equal(text, result == 0 ? "new" : "old");
    if (result == 0)
        assert_null(strstr(all, ".longshore"));
}

static void a_file_is_replaced_atomically(void **state)
{
    for (int is_walk = 0; is_walk < 2; is_walk++) {
        const struct fault_scenario scenario = {.name = "write",
                                                .prepare = prepare_old_file,
                                                .run = write_new_file,
                                                .check = check_old_or_new,
                                                .data = *state};

        beneath_force_walk(is_walk);
        assert_true(fault_sweep(&scenario) >= 5);
    }
}

/* ---- removing ---- */

/* More than the classic header of a tar holds. */
#define TEN "0123456789"
#define LONG_NAME TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void prepare_tree(void *data)
{
    struct world *world = data;
    int fd = world->scratch.root_fd;

    clear(world);
    assert_int_equal(mkdirat(fd, "a", 0755), 0);
    assert_int_equal(mkdirat(fd, "a/b", 0755), 0);
    assert_int_equal(mkdirat(fd, "a/b/c", 0755), 0);
    scratch_write(fd, "a/one", "1");
    scratch_write(fd, "a/b/two", "2");
    scratch_write(fd, "a/b/c/three", "3");
    assert_int_equal(symlinkat("../outside", fd, "a/b/link"), 0);
    scratch_write(fd, LONG_NAME, "4");
    scratch_write(fd, "other", "stays");
}

static int remove_tree(void *data, struct error *err)
{
    struct world *world = data;

    return beneath_remove_tree(world->scratch.root_fd, "a", err);
}

static void check_removed(void *data, int result)
{
    struct world *world = data;
    cleanup_free char *other = scratch_read(world->scratch.root_fd, "other");
    struct error err = {0};

    assert_string_equal(other, "stays");
    if (result == 0)
        assert_int_equal(faccessat(world->scratch.root_fd, "a", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    /* Whatever was left, the next try removes it. */
    assert_int_equal(beneath_remove_tree(world->scratch.root_fd, "a", &err), 0);
}

static void a_tree_is_removed_or_the_failure_is_reported(void **state)
{
    const struct fault_scenario scenario = {.name = "remove",
                                            .prepare = prepare_tree,
                                            .run = remove_tree,
                                            .check = check_removed,
                                            .data = *state};

    assert_true(fault_sweep(&scenario) >= 20);
}

/* ---- packing ---- */

static int keep(void *data, const void *bytes, size_t size, struct error *err)
{
    struct world *world = data;

    return buffer_append(&world->packed, bytes, size, err);
}

static void prepare_packing(void *data)
{
    struct world *world = data;

    prepare_tree(data);
    buffer_done(&world->packed);
    buffer_init(&world->packed, 1 << 20);
    /* The same tree, the same time: the same bytes. */
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "a/b", "a/b/c"};
        static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

        assert_int_equal(utimensat(world->scratch.root_fd, names[i], times, 0), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        static const char *const names[] = {"a/one", "a/b/two",  "a/b/c/three",
                                            "other", "a/b/link", LONG_NAME};
        static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

        assert_int_equal(utimensat(world->scratch.root_fd, names[i], times, AT_SYMLINK_NOFOLLOW),
                         0);
    }
}

static int pack(void *data, struct error *err)
{
    struct world *world = data;
    struct pack_counts counts = {0};
    const struct pack_options options = {
        .limits = &ARCHIVE_LIMITS_STATE, .write = keep, .data = world};

    return pack_tree(world->scratch.root_fd, &options, &counts, err);
}

static void check_packed(void *data, int result)
{
    struct world *world = data;

    if (result < 0)
        return;
    assert_int_equal(world->packed.size, world->wanted_size);
    assert_memory_equal(world->packed.data, world->wanted, world->wanted_size);
}

static void a_tree_is_packed_completely_or_the_failure_is_reported(void **state)
{
    struct world *world = *state;
    struct error err = {0};
    const struct fault_scenario scenario = {.name = "pack",
                                            .prepare = prepare_packing,
                                            .run = pack,
                                            .check = check_packed,
                                            .data = world};

    prepare_packing(world);
    assert_int_equal(pack(world, &err), 0);
    world->wanted = xmemdup(world->packed.data, world->packed.size);
    world->wanted_size = world->packed.size;
    assert_true(fault_sweep(&scenario) >= 20);
    /* An encoder that fails, from the first header to the last block. */
    assert_true(fault_sweep_function(&scenario, "deflate", EIO) >= 20);
}

static void make_file(int root_fd)
{
    scratch_write(root_fd, "other", "another one");
}

static void make_small_file(int root_fd)
{
    scratch_write(root_fd, "other", "1");
}

static void make_link(int root_fd)
{
    assert_int_equal(symlinkat("1", root_fd, "other"), 0);
}

static void make_old_folder(int root_fd)
{
    static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    assert_int_equal(mkdirat(root_fd, "other", 0755), 0);
    assert_int_equal(utimensat(root_fd, "other", times, 0), 0);
}

static void make_folder(int root_fd)
{
    assert_int_equal(mkdirat(root_fd, "other", 0755), 0);
}

/* What exists, what replaces it, and before which call: all of them come after the first fstatat().
 */
static const struct replacement {
    void (*make)(int root_fd), (*make_other)(int root_fd);
    const char *function;
    unsigned nth;
} replacements[] = {
    {make_link, make_file, "readlinkat", 1},
    {make_link, make_file, "fstatat", 2},
    /* The first opens the root. */
    {make_old_folder, make_folder, "openat", 2},
    {make_small_file, make_file, "openat", 2},
};

struct swap {
    struct world *world;
    const struct replacement *replacement;
};

static void replace(void *data)
{
    const struct swap *swap = data;
    struct error err = {0};

    assert_int_equal(beneath_remove_tree(swap->world->scratch.root_fd, "other", &err), 0);
    swap->replacement->make_other(swap->world->scratch.root_fd);
}

static void a_file_replaced_after_stat_is_a_conflict(void **state)
{
    struct world *world = *state;

    buffer_init(&world->packed, 1 << 20);
    for (size_t i = 0; i < array_length(replacements); i++) {
        struct swap swap = {.world = world, .replacement = &replacements[i]};
        struct error err = {0};

        clear(world);
        replacements[i].make(world->scratch.root_fd);
        fault_call_before(replacements[i].function, replacements[i].nth, replace, &swap);
        assert_int_equal(pack(world, &err), -1);
        assert_true(fault_disarm());
        assert_int_equal(err.kind, ERROR_CONFLICT);
        assert_string_equal(err.text, "\"other\" changed while it was read");
    }
}

/* ---- unpacking ---- */

static const struct tar_spec entries[] = {
    {.name = "a", .type = '5', .mode = 0750},
    {.name = "a/file", .data = "contents"},
    {.name = "a/b/", .type = '5', .mode = 0755},
    {.name = "a/b/deep", .data = "more"},
    {.name = "hard", .type = '1', .target = "a/file"},
    {.name = "soft", .type = '2', .target = "a/file"},
};

static void make_archive(struct world *world, enum tar_packing packing)
{
    cleanup_buffer struct buffer tar = {0};

    tar_builder_init(&tar);
    for (size_t i = 0; i < array_length(entries); i++)
        tar_builder_add(&tar, &entries[i]);
    tar_builder_end(&tar);
    buffer_done(&world->packed);
    world->packed = tar_builder_pack(tar.data, tar.size, packing);
}

static int unpack(void *data, struct error *err)
{
    struct world *world = data;
    struct memory_source source = {
        .bytes = world->packed.data, .size = world->packed.size, .piece = 4096};
    const struct unpack_options options = {.policy = world->policy,
                                           .limits = &ARCHIVE_LIMITS_STATE};
    struct unpack_counts counts = {0};

    return unpack_stream(world->scratch.root_fd, &options, memory_source_read, &source, &counts,
                         err);
}

static int unpack_from_file(void *data, struct error *err)
{
    struct world *world = data;
    const struct unpack_options options = {.policy = world->policy,
                                           .limits = &ARCHIVE_LIMITS_STATE};
    struct unpack_counts counts = {0};

    if (lseek(world->packed_fd, 0, SEEK_SET) != 0)
        return error_set_errno(err, errno, "rewind");
    return unpack_fd(world->scratch.root_fd, &options, world->packed_fd, &counts, err);
}

static void check_unpacked(void *data, int result)
{
    struct world *world = data;
    cleanup_free char *found = describe(world);

    if (result == 0)
        assert_string_equal(found, world->wanted);
}

static void put_into_file(struct world *world)
{
    world->packed_fd = openat(world->scratch.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_true(world->packed_fd >= 0);
    assert_int_equal(write(world->packed_fd, world->packed.data, world->packed.size),
                     (ssize_t)world->packed.size);
}

static unsigned sweep_unpacking(struct world *world, const char *name,
                                int (*run)(void *data, struct error *err))
{
    struct error err = {0};
    const struct fault_scenario scenario = {
        .name = name, .prepare = clear, .run = run, .check = check_unpacked, .data = world};

    clear(world);
    if (run(world, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    free(world->wanted);
    world->wanted = describe(world);
    return fault_sweep(&scenario);
}

static void an_archive_is_unpacked_completely_or_the_failure_is_reported(void **state)
{
    struct world *world = *state;

    for (int is_walk = 0; is_walk < 2; is_walk++) {
        beneath_force_walk(is_walk);
        for (size_t i = 0; i < 2; i++) {
            world->policy = i ? UNPACK_STATE : UNPACK_BLUEPRINT;
            make_archive(world, i ? TAR_GZIP : TAR_ZSTD);
            assert_true(sweep_unpacking(world, i ? "state" : "blueprint", unpack) >= 20);
        }
    }
    put_into_file(world);
    assert_true(sweep_unpacking(world, "file", unpack_from_file) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_replaced_atomically, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tree_is_removed_or_the_failure_is_reported, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_tree_is_packed_completely_or_the_failure_is_reported,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_replaced_after_stat_is_a_conflict, setup, teardown),
        cmocka_unit_test_setup_teardown(
            an_archive_is_unpacked_completely_or_the_failure_is_reported, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
