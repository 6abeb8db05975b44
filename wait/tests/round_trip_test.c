/* SPDX-License-Identifier: Apache-2.0 */
/* Property: any tree of files, directories and symlinks that is stored through store and sink is
 * restored identically (names, types, contents, modes, times, link targets), and the same tree
 * always has the same digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "common/base/memory.h"
#include "common/state/restore.h"
#include "scratch.h"
#include "wait/store.h"

enum { TREES = 40, DEPTH_MAX = 12, ENTRIES_MAX = 60 };

struct random {
    uint64_t state;
};

static uint32_t next(struct random *random, uint32_t below)
{
    random->state = random->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(random->state >> 33) % below;
}

/* Spaces, newlines, quotes, backslashes, dashes, UTF-8, invalid UTF-8, 255 bytes. */
static void make_name(struct random *random, char name[256])
{
    static const char *const pieces[] = {"a",        "B",         " ",        "\n",
                                         "\t",       "'",         "\"",       "\\",
                                         "-",        ".",         "..",       "*",
                                         "\x01",     "\x7f",      "\xc3\xa4", "\xe6\x97\xa5",
                                         "\xff",     "%",         "name",     "\xf0\x9f\x9a\xa2",
                                         "file.txt", "PaxHeader", "=",        "#"};
    size_t wanted = next(random, 8) == 0 ? 255 : 1 + next(random, 20);
    size_t used = 0;

    while (used < wanted) {
        const char *piece = pieces[next(random, array_length(pieces))];

        if (used + strlen(piece) > 255)
            break;
        memcpy(name + used, piece, strlen(piece));
        used += strlen(piece);
    }
    while (used < wanted && wanted == 255)
        name[used++] = 'x';
    name[used] = '\0';
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !*name)
        memcpy(name, "dot", 4);
}

static void make_file(struct random *random, int directory_fd, const char *name)
{
    /* Sometimes one that needs more than one chunk. */
    size_t size = next(random, 200) == 0 ? 1500000 : next(random, 3000);
    cleanup_free unsigned char *bytes = xmalloc(size + 1);
    int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0) {
        assert_int_equal(errno, EEXIST);
        return;
    }
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)next(random, size > 2000 ? 256 : 3);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(fchmod(fd, (mode_t)(0400 | next(random, 0400))), 0);
    (void)close(fd);
}

static void set_time(struct random *random, int directory_fd, const char *name)
{
    /* Whole seconds: what Go's format keeps without extensions; past and future. */
    struct timespec times[2] = {{.tv_sec = next(random, 2000000000)},
                                {.tv_sec = next(random, 2000000000)}};

    assert_int_equal(utimensat(directory_fd, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static int make_entries(struct random *random, int directory_fd, int depth, int budget)
{
    uint32_t count = next(random, 6);

    for (uint32_t i = 0; i < count && budget > 0; i++, budget--) {
        char name[256];
        uint32_t kind = next(random, 8);

        make_name(random, name);
        if (kind < 4) {
            make_file(random, directory_fd, name);
        } else if (kind < 6 && depth < DEPTH_MAX) {
            if (mkdirat(directory_fd, name, 0700) == 0) {
                int fd =
                    openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                assert_true(fd >= 0);
                budget = make_entries(random, fd, depth + 1, budget);
                assert_int_equal(fchmod(fd, (mode_t)(0700 | next(random, 0100))), 0);
                (void)close(fd);
            }
        } else {
            char target[256];

            make_name(random, target);
            (void)!symlinkat(target, directory_fd, name);
        }
        if (faccessat(directory_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            set_time(random, directory_fd, name);
    }
    return budget;
}

/* ---- comparing ---- */

static void compare_files(int a_fd, int b_fd, const char *name)
{
    int a = openat(a_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int b = openat(b_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char a_bytes[4096];
    char b_bytes[4096];
    ssize_t size = 0;

    assert_true(a >= 0 && b >= 0);
    while ((size = read(a, a_bytes, sizeof(a_bytes))) > 0) {
        assert_int_equal(read(b, b_bytes, sizeof(b_bytes)), size);
        assert_memory_equal(a_bytes, b_bytes, (size_t)size);
    }
    assert_int_equal(read(b, b_bytes, 1), 0);
    (void)close(a);
    (void)close(b);
}

static size_t compare(int a_fd, int b_fd);

static size_t compare_entry(int a_fd, int b_fd, const char *name)
{
    struct stat a = {0};
    struct stat b = {0};
    char a_target[512] = "";
    char b_target[512] = "";
    size_t count = 1;

    assert_int_equal(fstatat(a_fd, name, &a, AT_SYMLINK_NOFOLLOW), 0);
    if (fstatat(b_fd, name, &b, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("'%s' did not come back", name);
    assert_int_equal(a.st_mode, b.st_mode);
    assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
    if (S_ISLNK(a.st_mode)) {
        assert_true(readlinkat(a_fd, name, a_target, sizeof(a_target) - 1) > 0);
        assert_true(readlinkat(b_fd, name, b_target, sizeof(b_target) - 1) > 0);
        assert_string_equal(a_target, b_target);
    } else if (S_ISREG(a.st_mode)) {
        assert_int_equal(a.st_size, b.st_size);
        compare_files(a_fd, b_fd, name);
    } else {
        int a_child = openat(a_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int b_child = openat(b_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        count += compare(a_child, b_child);
        (void)close(a_child);
        (void)close(b_child);
    }
    return count;
}

static size_t count_names(int fd)
{
    DIR *directory = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count;
}

static size_t compare(int a_fd, int b_fd)
{
    DIR *directory = fdopendir(openat(a_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *entry = NULL;
    size_t count = 0;

    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            count += compare_entry(a_fd, b_fd, entry->d_name);
    }
    (void)closedir(directory);
    assert_int_equal(count_names(a_fd), count_names(b_fd)); /* nothing was added */
    return count;
}

/* ---- store and restore ---- */

static struct state_outcome send_out(struct scratch *scratch, int64_t sequence)
{
    cleanup_free char *state_path = xasprintf("%s/volume/state", scratch->path);
    cleanup_free char *exports_path = xasprintf("%s/volume/exports/values", scratch->path);
    cleanup_free char *sink_path = xasprintf("%s/sink", scratch->path);
    cleanup_volume struct volume volume = VOLUME_INIT;
    cleanup_loop struct loop *loop = NULL;
    cleanup_sink struct sink *sink = NULL;
    struct observed observed = {.end = {.kind = MAIN_ENDED}};
    struct deadline deadline = {0};
    struct origin origin = {
        .item_name = "i", .item_namespace = "n", .job = "j", .pod_uid = "u", .sequence = sequence};
    struct last_generation last = {0};
    struct store store = {
        .volume = &volume, .deadline = &deadline, .origin = &origin, .last = &last};
    struct state_outcome outcome = {0};
    struct error err = {0};

    assert_int_equal(volume_open(state_path, exports_path, &volume, &err), 0);
    assert_int_equal(loop_new(clock_system(), &loop, &err), 0);
    assert_int_equal(sink_directory_new(sink_path, clock_system(), &sink, &err), 0);
    deadline = (struct deadline){.loop = loop, .observed = &observed};
    store.sink = sink;
    store_state(&store, &outcome);
    if (outcome.delivery == DELIVERY_FAILED)
        fail_msg("%s", outcome.err.text);
    return outcome;
}

static int open_generation(struct scratch *scratch, int64_t sequence)
{
    int state_fd = openat(scratch->fd, "sink/state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fdopendir(state_fd);
    const struct dirent *entry = NULL;
    int fd = -1;

    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        if (strtoll(entry->d_name, NULL, 10) == sequence)
            fd = openat(state_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    (void)closedir(directory);
    assert_true(fd >= 0);
    return fd;
}

static void bring_back(struct scratch *scratch, int64_t sequence)
{
    int fd = open_generation(scratch, sequence);
    struct state_source source = state_source_directory(&fd);
    struct state_set set = {0};
    struct state_restored restored = {0};
    struct error err = {0};

    assert_int_equal(state_set_add_directory(&set, fd, &err), 0);
    state_set_arrange(&set);
    if (state_restore(&set, &source, scratch->fd, "back", NULL, NULL, &restored, &err) < 0)
        fail_msg("%s", err.text);
    state_set_done(&set);
    (void)close(fd);
}

static void random_trees_are_restored_exactly_as_stored(void **state)
{
    struct scratch *scratch = *state;
    size_t entries = 0;
    int64_t chunks = 0;

    assert_int_equal(mkdirat(scratch->fd, "volume", 0700), 0);
    for (int64_t tree = 1; tree <= TREES; tree++) {
        struct random random = {.state = (uint64_t)tree * 0x9e3779b97f4a7c15ULL};
        struct state_outcome outcome;
        cleanup_free char *old = xasprintf("old-%d", (int)tree);
        int state_fd = -1;
        int back_fd = -1;

        assert_int_equal(mkdirat(scratch->fd, "volume/state", 0700), 0);
        state_fd = openat(scratch->fd, "volume/state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)make_entries(&random, state_fd, 1, ENTRIES_MAX);
        outcome = send_out(scratch, tree);
        bring_back(scratch, tree);
        back_fd = openat(scratch->fd, "back", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        entries += compare(state_fd, back_fd);
        chunks = outcome.chunks > chunks ? outcome.chunks : chunks;
        (void)close(back_fd);
        (void)close(state_fd);
        /* Packing is deterministic: the restored copy gives the same bytes. */
        assert_int_equal(renameat(scratch->fd, "volume/state", scratch->fd, old), 0);
        assert_int_equal(renameat(scratch->fd, "back", scratch->fd, "volume/state"), 0);
        assert_string_equal(send_out(scratch, tree + TREES).sha256, outcome.sha256);
        assert_int_equal(renameat(scratch->fd, "volume/state", scratch->fd, old + 1), 0);
    }
    assert_true(entries > 5 * TREES); /* the trees are not all empty, nor all small */
    assert_true(chunks > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_trees_are_restored_exactly_as_stored, scratch_set_up,
                                        scratch_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
