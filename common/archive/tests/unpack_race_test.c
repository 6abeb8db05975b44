/* SPDX-License-Identifier: Apache-2.0 */
/* An attacker in the same directory continuously swaps a directory with a symlink that leads out,
 * while archives are unpacked and trees are packed. Nothing outside may be read or changed. */
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/pack.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

enum { ROUNDS = 300 };

/* Swaps root/d and root/evil -> ../outside until it is killed. */
static pid_t start_attacker(const struct scratch *scratch)
{
    pid_t child = -1;

    assert_int_equal(mkdirat(scratch->root_fd, "d", 0777), 0);
    assert_int_equal(symlinkat("../outside", scratch->root_fd, "evil"), 0);
    child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)renameat2(scratch->root_fd, "d", scratch->root_fd, "evil", RENAME_EXCHANGE);
    }
    assert_true(child > 0);
    return child;
}

static void stop_attacker(pid_t child)
{
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void unpacking_never_writes_outside(void **state)
{
    const struct unpack_options options = {.policy = UNPACK_STATE, .limits = &ARCHIVE_LIMITS_STATE};
    cleanup_buffer struct buffer tar = {0};
    cleanup_scratch struct scratch scratch;
    int refused = 0, fine = 0;
    pid_t attacker = -1;

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "d/new/deep", .data = "1"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "d/secret", .data = "overwritten"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "d", .type = '5', .mode = 0711});
    tar_builder_add(&tar, &(struct tar_spec){.name = "d/l", .type = '2', .target = "x"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "d/h", .type = '1', .target = "d/secret"});
    tar_builder_end(&tar);
    attacker = start_attacker(&scratch);
    for (int i = 0; i < ROUNDS; i++) {
        struct memory_source source = {.bytes = tar.data, .size = tar.size, .piece = tar.size};
        struct unpack_counts counts = {0};
        struct error err = {0};

        if (unpack_stream(scratch.root_fd, &options, memory_source_read, &source, &counts, &err) <
            0)
            refused++;
        else
            fine++;
    }
    stop_attacker(attacker);
    /* scratch_done() checks that nothing outside changed. This checks that the race took place. */
    assert_true(refused > 0);
    assert_int_equal(refused + fine, ROUNDS);
}

static void writing_and_removing_never_reach_outside(void **state)
{
    cleanup_scratch struct scratch scratch;
    pid_t attacker = -1;

    (void)state;
    scratch_init(&scratch);
    attacker = start_attacker(&scratch);
    for (int i = 0; i < ROUNDS; i++) {
        struct error err = {0};
        cleanup_close int fd = -1;
        char text[16];

        (void)!beneath_write_file(scratch.root_fd, "d/secret", "overwritten", 11, 0666, &err);
        (void)!beneath_remove_tree(scratch.root_fd, "d/secret", &err);
        fd = beneath_open_file(scratch.root_fd, "d/secret", NULL, &err);
        if (fd >= 0) { /* not removed because d was the symlink at that time; it is ours */
            assert_int_equal(read(fd, text, sizeof(text)), 11);
            assert_memory_equal(text, "overwritten", 11);
        }
        /* The directory that is removed can be swapped, too. */
        (void)!beneath_remove_tree(scratch.root_fd, "d", &err);
        (void)mkdirat(scratch.root_fd, "d", 0777);
        (void)!symlinkat("../outside", scratch.root_fd, "evil");
    }
    stop_attacker(attacker);
}

static int find_secret(void *data, const void *bytes, size_t size, struct error *err)
{
    return buffer_append(data, bytes, size, err);
}

static void packing_never_reads_outside(void **state)
{
    cleanup_scratch struct scratch scratch;
    pid_t attacker = -1;

    (void)state;
    scratch_init(&scratch);
    attacker = start_attacker(&scratch);
    for (int i = 0; i < ROUNDS; i++) {
        cleanup_buffer struct buffer packed = {0};
        const struct pack_options options = {
            .limits = &ARCHIVE_LIMITS_STATE, .write = find_secret, .data = &packed};
        struct pack_counts counts = {0};
        struct error err = {0};
        char *data = NULL;
        size_t size = 0;

        buffer_init(&packed, 1 << 20);
        if (pack_tree(scratch.root_fd, &options, &counts, &err) < 0) {
            assert_int_equal(err.kind, ERROR_CONFLICT);
            continue;
        }
        assert_int_equal(counts.files, 0);
        assert_int_equal(
            unpack_find_file(packed.data, packed.size, "d/secret", 100, &data, &size, &err), -1);
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
    }
    stop_attacker(attacker);
}

static int by_kernel(void **state)
{
    (void)state;
    beneath_force_walk(false);
    return 0;
}

static int by_walk(void **state)
{
    (void)state;
    beneath_force_walk(true);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unpacking_never_writes_outside, by_kernel),
        cmocka_unit_test_setup(unpacking_never_writes_outside, by_walk),
        cmocka_unit_test_setup(writing_and_removing_never_reach_outside, by_kernel),
        cmocka_unit_test_setup(writing_and_removing_never_reach_outside, by_walk),
        cmocka_unit_test(packing_never_reads_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
