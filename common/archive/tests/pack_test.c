/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "common/archive/pack.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/unpack.h"
#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/base/tests/skip.h"

struct packed {
    struct buffer bytes, skipped;
    struct pack_counts counts;
    struct error err;
    int result;
    /* Called once, after this many bytes were written, to change the tree during packing. */
    void (*disturb)(int root_fd);
    int root_fd;
};

static int keep(void *data, const void *bytes, size_t size, struct error *err)
{
    struct packed *packed = data;

    if (packed->disturb)
        packed->disturb(packed->root_fd);
    packed->disturb = NULL;
    return buffer_append(&packed->bytes, bytes, size, err);
}

static void note_skip(void *data, const char *path, const char *kind)
{
    struct packed *packed = data;

    assert_int_equal(buffer_append_text(&packed->skipped, &packed->err, "%s %s\n", path, kind), 0);
}

static void packed_done(struct packed *packed)
{
    buffer_done(&packed->bytes);
    buffer_done(&packed->skipped);
}
#define cleanup_packed __attribute__((cleanup(packed_done)))

static void pack_disturbed(int root_fd, const struct archive_limits *limits,
                           void (*disturb)(int root_fd), struct packed *ret_packed)
{
    const struct pack_options options = {
        .limits = limits, .write = keep, .on_skip = note_skip, .data = ret_packed};

    *ret_packed = (struct packed){.disturb = disturb, .root_fd = root_fd};
    buffer_init(&ret_packed->bytes, 256 << 20);
    buffer_init(&ret_packed->skipped, 1 << 20);
    ret_packed->result = pack_tree(root_fd, &options, &ret_packed->counts, &ret_packed->err);
}

static void pack(int root_fd, struct packed *ret_packed)
{
    pack_disturbed(root_fd, &ARCHIVE_LIMITS_STATE, NULL, ret_packed);
    if (ret_packed->result < 0)
        fail_msg("%s", ret_packed->err.text);
}

static void unpack(int root_fd, const struct packed *packed)
{
    const struct unpack_options options = {.policy = UNPACK_STATE, .limits = &ARCHIVE_LIMITS_STATE};
    struct memory_source source = {
        .bytes = packed->bytes.data, .size = packed->bytes.size, .piece = 4096};
    struct unpack_counts counts = {0};
    struct error err = {0};

    if (unpack_stream(root_fd, &options, memory_source_read, &source, &counts, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(counts.bytes, packed->counts.bytes);
}

/* A pseudo-random tree: the same for the same seed (xorshift). */
struct dice {
    uint64_t state;
};

static unsigned roll(struct dice *dice, unsigned sides)
{
    dice->state ^= dice->state << 13;
    dice->state ^= dice->state >> 7;
    dice->state ^= dice->state << 17;
    return (unsigned)(dice->state % sides);
}

/* Blanks, newlines, UTF-8, invalid UTF-8, up to 255 bytes. */
static void make_name(struct dice *dice, unsigned number, char ret_name[256])
{
    static const char *const parts[] = {"a",  " ", "\n", "\xc3\xa9", "\xff",         "\\",
                                        "..", "-", "=",  "\x01",     "\xe2\x82\xac", "0 path=x\n"};
    size_t size = (size_t)snprintf(ret_name, 256, "%u", number);
    unsigned count = roll(dice, 10) == 0 ? 250 : roll(dice, 8);

    for (unsigned i = 0; i < count; i++) {
        const char *part = parts[roll(dice, array_length(parts))];

        if (size + strlen(part) > 255)
            break;
        memcpy(ret_name + size, part, strlen(part));
        size += strlen(part);
    }
    ret_name[size] = '\0';
}

static void fill_file(struct dice *dice, int fd)
{
    unsigned size = roll(dice, 8) == 0 ? roll(dice, 100000) : roll(dice, 700);
    cleanup_free char *bytes = xmalloc(size + 1);

    for (unsigned i = 0; i < size; i++)
        bytes[i] = (char)(roll(dice, 3) ? 'x' : 1 + roll(dice, 254));
    assert_int_equal(write(fd, bytes, size), size);
}

static struct timespec make_time(struct dice *dice)
{
    static const int64_t seconds[] = {0, 1, 1700000000, 4102444800, -5, 8589934591, 8589934592};

    return (struct timespec){.tv_sec = seconds[roll(dice, array_length(seconds))] +
                                       (int64_t)roll(dice, 2)};
}

static void set_times(struct dice *dice, int parent_fd, const char *name)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, make_time(dice)};

    if (times[1].tv_sec >= 0 && roll(dice, 2))
        times[1].tv_nsec = (long)roll(dice, 1000000000);
    assert_int_equal(utimensat(parent_fd, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void grow(struct dice *dice, int parent_fd, unsigned depth)
{
    static const mode_t modes[] = {0755, 0700, 0777, 0644, 0600, 0555, 0750};
    unsigned count = roll(dice, 7);

    for (unsigned i = 0; i < count; i++) {
        cleanup_close int fd = -1;
        char name[256], target[256];

        make_name(dice, i, name);
        switch (roll(dice, depth < 7 ? 4 : 2)) {
        case 0:
            make_name(dice, i, target);
            assert_int_equal(symlinkat(target, parent_fd, name), 0);
            break;
        case 1:
            fd = openat(parent_fd, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
            assert_true(fd >= 0);
            fill_file(dice, fd);
            assert_int_equal(fchmod(fd, modes[roll(dice, array_length(modes))]), 0);
            break;
        default:
            assert_int_equal(mkdirat(parent_fd, name, 0700), 0);
            fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY);
            grow(dice, fd, depth + 1);
            assert_int_equal(fchmod(fd, modes[roll(dice, 3)]), 0);
            break;
        }
        set_times(dice, parent_fd, name);
    }
}

static void random_trees_come_back_identical(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct dice dice = {.state = seed * UINT64_C(0x9e3779b97f4a7c15)};
        cleanup_scratch struct scratch from, to;
        cleanup_packed struct packed once = {0}, twice = {0}, again = {0};
        cleanup_free char *before = NULL, *after = NULL;

        scratch_init(&from);
        scratch_init(&to);
        grow(&dice, from.root_fd, 0);
        pack(from.root_fd, &once);
        pack(from.root_fd, &twice);
        assert_int_equal(once.bytes.size, twice.bytes.size);
        assert_memory_equal(once.bytes.data, twice.bytes.data, once.bytes.size);
        assert_int_equal(once.counts.packed_bytes, once.bytes.size);

        unpack(to.root_fd, &once);
        before = scratch_describe(from.root_fd, true);
        after = scratch_describe(to.root_fd, true);
        assert_string_equal(before, after);
        pack(to.root_fd, &again);
        assert_int_equal(once.bytes.size, again.bytes.size);
        assert_memory_equal(once.bytes.data, again.bytes.data, once.bytes.size);
    }
}

static void an_empty_tree_is_an_archive_too(void **state)
{
    cleanup_scratch struct scratch from, to;
    cleanup_packed struct packed packed = {0};
    cleanup_free char *tree = NULL;

    (void)state;
    scratch_init(&from);
    scratch_init(&to);
    pack(from.root_fd, &packed);
    assert_int_equal(packed.counts.files, 0);
    assert_true(packed.bytes.size > 18);
    /* The gzip header has no time, no name and an unknown system, as Go writes it. */
    assert_memory_equal(packed.bytes.data, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    unpack(to.root_fd, &packed);
    tree = scratch_describe(to.root_fd, false);
    assert_string_equal(tree, "");
}

static void hard_links_are_stored_as_files(void **state)
{
    cleanup_scratch struct scratch from, to;
    cleanup_packed struct packed packed = {0};
    cleanup_free char *text = NULL;

    (void)state;
    scratch_init(&from);
    scratch_init(&to);
    scratch_write(from.root_fd, "a", "same");
    assert_int_equal(linkat(from.root_fd, "a", from.root_fd, "b", 0), 0);
    pack(from.root_fd, &packed);
    assert_int_equal(packed.counts.files, 2);
    assert_int_equal(packed.counts.bytes, 8);
    unpack(to.root_fd, &packed);
    text = scratch_read(to.root_fd, "b");
    assert_string_equal(text, "same");
}

static void sockets_fifos_and_devices_are_reported_and_skipped(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cleanup_scratch struct scratch scratch;
    cleanup_packed struct packed packed = {0};

    (void)state;
    scratch_init(&scratch);
    assert_int_equal(mkdirat(scratch.root_fd, "d", 0777), 0);
    assert_int_equal(mkfifoat(scratch.root_fd, "d/fifo", 0666), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/socket", scratch.path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    scratch_write(scratch.root_fd, "file", "1");
    pack(scratch.root_fd, &packed);
    assert_string_equal(packed.skipped.data, "d/fifo FIFO\nsocket socket\n");
    assert_int_equal(packed.counts.files, 1);
}

static void exceeded_limits_are_reported_with_the_path(void **state)
{
    static const struct {
        const char *name, *named;
        struct archive_limits limits;
    } cases[] = {
        {"one file",
         "\"big\"",
         {.bytes_max = 100, .file_max = 9, .entries_max = 9, .depth_max = 9}},
        {"all files",
         "10 bytes in total",
         {.bytes_max = 10, .file_max = 99, .entries_max = 9, .depth_max = 9}},
        {"entries",
         "2 entries",
         {.bytes_max = 100, .file_max = 99, .entries_max = 2, .depth_max = 9}},
        {"depth",
         "\"d/e/f\"",
         {.bytes_max = 100, .file_max = 99, .entries_max = 9, .depth_max = 2}},
        {"none", NULL, {.bytes_max = 11, .file_max = 10, .entries_max = 4, .depth_max = 3}},
    };
    cleanup_scratch struct scratch scratch;

    (void)state;
    scratch_init(&scratch);
    scratch_write(scratch.root_fd, "big", "0123456789");
    assert_int_equal(mkdirat(scratch.root_fd, "d", 0777), 0);
    assert_int_equal(mkdirat(scratch.root_fd, "d/e", 0777), 0);
    scratch_write(scratch.root_fd, "d/e/f", "1");
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_packed struct packed packed = {0};

        pack_disturbed(scratch.root_fd, &cases[i].limits, NULL, &packed);
        if (!cases[i].named) {
            assert_int_equal(packed.result, 0);
            continue;
        }
        assert_int_equal(packed.result, -1);
        assert_int_equal(packed.err.kind, ERROR_TOO_LARGE);
        if (!strstr(packed.err.text, cases[i].named))
            fail_msg("%s: %s", cases[i].name, packed.err.text);
    }
}

static void a_path_that_no_reader_could_open_is_refused(void **state)
{
    char name[201] = {0};
    cleanup_scratch struct scratch scratch;
    cleanup_packed struct packed packed = {0};
    int fd = -1;

    (void)state;
    scratch_init(&scratch);
    memset(name, 'n', sizeof(name) - 1);
    fd = openat(scratch.root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 21; i++) {
        int next = -1;

        assert_int_equal(mkdirat(fd, name, 0777), 0);
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    pack_disturbed(scratch.root_fd, &ARCHIVE_LIMITS_STATE, NULL, &packed);
    assert_int_equal(packed.result, -1);
    assert_int_equal(packed.err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(packed.err.text, "is longer than 4095 bytes"));
}

static void mount_points_are_refused(void **state)
{
    cleanup_close int fd = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_packed struct packed packed = {0};
    struct stat outer = {0}, inner = {0};

    (void)state;
    if (fstat(fd, &outer) < 0 || fstatat(fd, "shm", &inner, 0) < 0 ||
        outer.st_dev == inner.st_dev) {
        skip_because("/dev/shm is not a separate file system here\n");
    }
    pack_disturbed(fd, &ARCHIVE_LIMITS_STATE, NULL, &packed);
    assert_int_equal(packed.result, -1);
    assert_int_equal(packed.err.kind, ERROR_INVALID);
    assert_non_null(strstr(packed.err.text, "\" is on another file system"));
}

static void a_huge_sparse_file_is_refused_without_reading_it(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_packed struct packed packed = {0};

    (void)state;
    scratch_init(&scratch);
    scratch_write(scratch.root_fd, "sparse", "");
    {
        cleanup_close int fd = openat(scratch.root_fd, "sparse", O_WRONLY);

        assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    }
    pack_disturbed(scratch.root_fd, &ARCHIVE_LIMITS_STATE, NULL, &packed);
    assert_int_equal(packed.result, -1);
    assert_int_equal(packed.err.kind, ERROR_TOO_LARGE);
    assert_int_equal(packed.bytes.size, 0);
}

/* Enough incompressible data that the packer writes before it has read everything, so that the tree
 * can be changed meanwhile. */
static void make_noise(int root_fd)
{
    struct dice dice = {.state = 7};
    cleanup_close int fd = openat(root_fd, "m", O_CREAT | O_EXCL | O_WRONLY, 0600);
    cleanup_free char *bytes = xmalloc(400000);

    for (size_t i = 0; i < 400000; i++)
        bytes[i] = (char)roll(&dice, 256);
    assert_int_equal(write(fd, bytes, 400000), 400000);
}

static void grow_file(int root_fd)
{
    cleanup_close int fd = openat(root_fd, "m", O_WRONLY | O_APPEND);

    assert_int_equal(write(fd, "x", 1), 1);
}

static void shrink_file(int root_fd)
{
    cleanup_close int fd = openat(root_fd, "m", O_WRONLY);

    assert_int_equal(ftruncate(fd, 100), 0);
}

static void rewrite_file(int root_fd)
{
    cleanup_close int fd = openat(root_fd, "m", O_WRONLY);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};

    assert_int_equal(pwrite(fd, "x", 1, 399999), 1);
    assert_int_equal(futimens(fd, times), 0); /* hiding it changes the ctime */
}

static void replace_file(int root_fd)
{
    scratch_write(root_fd, "new", "other");
    assert_int_equal(renameat(root_fd, "new", root_fd, "m"), 0);
}

static void add_file(int root_fd)
{
    scratch_write(root_fd, "z", "late");
}

static void remove_file(int root_fd)
{
    assert_int_equal(unlinkat(root_fd, "y", 0), 0);
}

static void changes_during_packing_are_conflicts(void **state)
{
    static const struct {
        const char *name;
        void (*disturb)(int root_fd);
    } cases[] = {
        {"grown", grow_file},       {"shrunk", shrink_file}, {"rewritten", rewrite_file},
        {"replaced", replace_file}, {"added", add_file},     {"removed", remove_file},
    };
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_packed struct packed packed = {0};

        scratch_init(&scratch);
        make_noise(scratch.root_fd);
        scratch_write(scratch.root_fd, "y", "1");
        /* Time stamps have the resolution of kernel ticks: a file that is created and changed
         * within one looks unchanged. */
        assert_int_equal(utimensat(scratch.root_fd, "m", long_ago, 0), 0);
        assert_int_equal(futimens(scratch.root_fd, long_ago), 0);
        pack_disturbed(scratch.root_fd, &ARCHIVE_LIMITS_STATE, cases[i].disturb, &packed);
        if (packed.result == 0 || packed.err.kind != ERROR_CONFLICT)
            fail_msg("%s: %s", cases[i].name, packed.err.text);
    }
}

static int fail_to_write(void *data, const void *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)size;
    return error_set(err, ERROR_TEMPORARY, "full");
}

static void an_error_of_the_sink_is_returned(void **state)
{
    const struct pack_options options = {.limits = &ARCHIVE_LIMITS_STATE, .write = fail_to_write};
    cleanup_scratch struct scratch scratch;
    struct pack_counts counts = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    assert_int_equal(pack_tree(scratch.root_fd, &options, &counts, &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees_come_back_identical),
        cmocka_unit_test(an_empty_tree_is_an_archive_too),
        cmocka_unit_test(hard_links_are_stored_as_files),
        cmocka_unit_test(sockets_fifos_and_devices_are_reported_and_skipped),
        cmocka_unit_test(exceeded_limits_are_reported_with_the_path),
        cmocka_unit_test(a_path_that_no_reader_could_open_is_refused),
        cmocka_unit_test(mount_points_are_refused),
        cmocka_unit_test(a_huge_sparse_file_is_refused_without_reading_it),
        cmocka_unit_test(changes_during_packing_are_conflicts),
        cmocka_unit_test(an_error_of_the_sink_is_returned),
    };

    return skip_exit_code(cmocka_run_group_tests(tests, NULL, NULL));
}
