/* SPDX-License-Identifier: Apache-2.0 */
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

enum { ENTRIES_MAX = 6 };

static int unpack(struct scratch *scratch, const struct tar_spec *specs, size_t count,
                  const struct archive_limits *limits, struct error *err)
{
    cleanup_buffer struct buffer tar = {0};
    cleanup_close int fd = memfd_create("layer", MFD_CLOEXEC);
    struct layer_options options = {.limits = limits};
    struct unpack_counts counts = {0};

    tar_builder_init(&tar);
    for (size_t i = 0; i < count && specs[i].name; i++)
        tar_builder_add(&tar, &specs[i]);
    tar_builder_end(&tar);
    assert_int_equal(write(fd, tar.data, tar.size), tar.size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return layer_unpack(scratch->root_fd, &options, fd, &counts, err);
}

/* Two layers and the resulting tree. */
static const struct {
    const char *what;
    struct tar_spec lower[ENTRIES_MAX], upper[ENTRIES_MAX];
    const char *tree;
} pairs[] = {
    {"a whiteout removes a file",
     {{.name = "a", .data = "1"}, {.name = "b", .data = "2"}},
     {{.name = ".wh.a"}},
     "b 100000 1 2\n"},
    {"a whiteout removes a tree",
     {{.name = "d", .type = '5'}, {.name = "d/x", .data = "1"}},
     {{.name = ".wh.d"}},
     ""},
    {"a whiteout of nothing is fine",
     {{.name = "b", .data = "2"}},
     {{.name = ".wh.zzz"}},
     "b 100000 1 2\n"},
    {"an opaque directory hides the content of lower layers",
     {{.name = "d", .type = '5'}, {.name = "d/old", .data = "1"}},
     {{.name = "d/.wh..wh..opq"}, {.name = "d/new", .data = "2"}},
     "d 40000\nd/new 100000 1 2\n"},
    {"a file replaces a file",
     {{.name = "a", .data = "1"}},
     {{.name = "a", .data = "22"}},
     "a 100000 2 22\n"},
    {"a file replaces a directory",
     {{.name = "a", .type = '5'}, {.name = "a/x", .data = "1"}},
     {{.name = "a", .data = "2"}},
     "a 100000 1 2\n"},
    {"a directory replaces a file",
     {{.name = "a", .data = "1"}},
     {{.name = "a", .type = '5'}, {.name = "a/x", .data = "2"}},
     "a 40000\na/x 100000 1 2\n"},
    {"a path through a link of a lower layer is resolved as in the container",
     {{.name = "usr/lib", .type = '5'}, {.name = "lib", .type = '2', .target = "usr/lib"}},
     {{.name = "lib/x", .data = "1"}},
     "lib 120000 -> usr/lib\nusr 40000\nusr/lib 40000\nusr/lib/x 100000 1 1\n"},
    {"a directory replaces a link to a directory, as in containerd",
     {{.name = "usr/lib", .type = '5'}, {.name = "lib", .type = '2', .target = "usr/lib"}},
     {{.name = "lib", .type = '5'}, {.name = "lib/x", .data = "1"}},
     "lib 40000\nlib/x 100000 1 1\nusr 40000\nusr/lib 40000\n"},
    {"an opaque marker after the layer's own entries keeps them",
     {{.name = "d/old", .data = "1"}, {.name = "d/sub/old", .data = "1"}},
     {{.name = "d/new", .data = "2"},
      {.name = "d/sub/new", .data = "3"},
      {.name = "d/hard", .type = '1', .target = "d/new"},
      {.name = "d/.wh..wh..opq"}},
     "d 40000\nd/hard 100000 1 2\nd/new 100000 1 2\nd/sub 40000\nd/sub/new 100000 1 3\n"},
    {"an opaque marker through a link keeps the layer's own entries",
     {{.name = "usr/old", .data = "1"}, {.name = "lib", .type = '2', .target = "usr"}},
     {{.name = "lib/new", .data = "2"}, {.name = "usr/.wh..wh..opq"}},
     "lib 120000 -> usr\nusr 40000\nusr/new 100000 1 2\n"},
    {"a file that ends with a hole has its whole size",
     {{.name = "a",
       .data = "x",
       .pax = "GNU.sparse.size=4\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n"}},
     {{.name = "b", .pax = "GNU.sparse.size=6\nGNU.sparse.numblocks=1\nGNU.sparse.map=6,0\n"}},
     "a 100000 4 x\nb 100000 6 \n"},
    {"names are bytes, relative to the image's root",
     {{.name = "a\\x2db", .data = "1"}, {.name = "line\nfeed", .data = "2"}},
     {{.name = "/absolute", .data = "3"},
      {.name = "h", .type = '1', .target = "/absolute"},
      {.name = "//d///x", .data = "4"}},
     "a\\x2db 100000 1 1\nabsolute 100000 1 3\nd 40000\nd/x 100000 1 4\nh 100000 1 3\n"
     "line\nfeed 100000 1 2\n"},
    {"a directory that becomes a file in the same layer",
     {{.name = "d", .type = '5'}, {.name = "d/x", .data = "1"}, {.name = "d", .data = "2"}},
     {{.name = "e/f", .type = '5'}, {.name = ".wh.e"}},
     "d 100000 1 2\n"},
    {"a device replaces an existing file and is skipped",
     {{.name = "a", .data = "1"}, {.name = "b", .data = "1"}},
     {{.name = "a", .type = '3'}},
     "b 100000 1 1\n"},
    {"an absolute link leads to the container's root, not to ours",
     {{.name = "l", .type = '2', .target = "/"}},
     {{.name = "l/inside", .data = "1"}},
     "inside 100000 1 1\nl 120000 -> /\n"},
    {"dot dot of a link stops at the container's root",
     {{.name = "l", .type = '2', .target = "../../.."}},
     {{.name = "l/outside/x", .data = "1"}},
     "l 120000 -> ../../..\noutside 40000\noutside/x 100000 1 1\n"},
    {"hard links share one file with their target",
     {{.name = "a", .data = "1"}},
     {{.name = "b", .type = '1', .target = "a"}},
     "a 100000 1 1\nb 100000 1 1\n"},
    {"devices and FIFOs are skipped",
     {{.name = "a", .data = "1"}},
     {{.name = "fifo", .type = '6'}, {.name = "null", .type = '3'}},
     "a 100000 1 1\n"},
};

static void layers_are_applied_on_top_of_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(pairs); i++) {
        cleanup_scratch struct scratch scratch = {0};
        cleanup_free char *tree = NULL;
        struct error err = {0};

        scratch_init(&scratch);
        if (unpack(&scratch, pairs[i].lower, ENTRIES_MAX, &ARCHIVE_LIMITS_LAYER, &err) < 0 ||
            unpack(&scratch, pairs[i].upper, ENTRIES_MAX, &ARCHIVE_LIMITS_LAYER, &err) < 0)
            fail_msg("%s: %s", pairs[i].what, err.text);
        tree = scratch_describe(scratch.root_fd, false);
        if (strcmp(tree, pairs[i].tree) != 0)
            fail_msg("%s:\n%s", pairs[i].what, tree);
    }
}

static const struct {
    const char *what;
    struct tar_spec entries[ENTRIES_MAX];
} hostile[] = {
    {"dot dot", {{.name = "../x", .data = "1"}}},
    {"dot dot in the middle", {{.name = "a/../../x", .data = "1"}}},
    {"hard link outside", {{.name = "h", .type = '1', .target = "../outside/secret"}}},
    {"hard link by an absolute name", {{.name = "h", .type = '1', .target = "/etc/passwd"}}},
    {"hard link to itself", {{.name = "h", .type = '1', .target = "h"}}},
    {"hard link to the root", {{.name = "h", .type = '1', .target = "/"}}},
    {"hard link over links in a circle",
     {{.name = "a", .type = '2', .target = "b"},
      {.name = "b", .type = '2', .target = "a"},
      {.name = "h", .type = '1', .target = "a/x"}}},
    {"hard link to nothing", {{.name = "h", .type = '1', .target = "nothing"}}},
    {"hard link to a directory",
     {{.name = "d", .type = '5'}, {.name = "h", .type = '1', .target = "d"}}},
    {"links in a circle",
     {{.name = "a", .type = '2', .target = "b"},
      {.name = "b", .type = '2', .target = "a"},
      {.name = "a/x", .data = "1"}}},
    {"whiteout of dot dot", {{.name = "d/.wh..."}, {.name = "d/.wh.."}}},
    {"a symlink to nowhere", {{.name = "s", .type = '2', .target = ""}}},
    {"pax path", {{.name = "ok", .data = "1", .pax = "path=../x\n"}}},
    {"GNU long name", {{.name = "ok", .data = "1", .gnu_name = "../x"}}},
};

static void hostile_layers_are_refused_and_touch_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(hostile); i++) {
        cleanup_scratch struct scratch scratch = {0};
        struct error err = {0};

        scratch_init(&scratch);
        if (unpack(&scratch, hostile[i].entries, ENTRIES_MAX, &ARCHIVE_LIMITS_LAYER, &err) == 0)
            fail_msg("%s was unpacked", hostile[i].what);
        assert_int_not_equal(strlen(err.text), 0);
    }
}

struct countdown {
    int calls_left;
    uint64_t bytes;
};

static int count_down(void *data, uint64_t bytes, struct error *err)
{
    struct countdown *countdown = data;

    assert_true(bytes >= countdown->bytes);
    countdown->bytes = bytes;
    return countdown->calls_left-- > 0 ? 0 : error_set(err, ERROR_CANCELLED, "stopped");
}

static void unpacking_can_be_stopped_between_blocks(void **state)
{
    enum { FILES = 400 };
    cleanup_buffer struct buffer tar = {0};
    int calls = 0;
    int result = -1;

    (void)state;
    tar_builder_init(&tar);
    for (int i = 0; i < FILES; i++) {
        cleanup_free char *name = xasprintf("file-%d", i);

        tar_builder_add(&tar, &(struct tar_spec){.name = name, .data = "12345"});
    }
    tar_builder_end(&tar);
    for (; result < 0; calls++) {
        cleanup_scratch struct scratch scratch = {0};
        cleanup_close int fd = memfd_create("layer", MFD_CLOEXEC);
        struct countdown countdown = {.calls_left = calls};
        const struct layer_options options = {
            .limits = &ARCHIVE_LIMITS_LAYER, .on_block = count_down, .data = &countdown};
        struct unpack_counts counts = {0};
        struct error err = {0};

        scratch_init(&scratch);
        assert_int_equal(write(fd, tar.data, tar.size), tar.size);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        result = layer_unpack(scratch.root_fd, &options, fd, &counts, &err);
        assert_int_equal(err.kind, result < 0 ? ERROR_CANCELLED : ERROR_NONE);
        assert_true(result < 0 || countdown.bytes <= counts.bytes);
    }
    assert_true(calls > 2); /* it was stopped at the beginning and in between */
}

static void unpack_damaged(const struct buffer *tar, size_t size, const char *expected)
{
    cleanup_scratch struct scratch scratch = {0};
    cleanup_close int fd = memfd_create("layer", MFD_CLOEXEC);
    const struct layer_options options = {.limits = &ARCHIVE_LIMITS_LAYER};
    struct unpack_counts counts = {0};
    struct error err = {0};

    scratch_init(&scratch);
    assert_int_equal(write(fd, tar->data, size), size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(layer_unpack(scratch.root_fd, &options, fd, &counts, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    if (!strstr(err.text, expected))
        fail_msg("'%s' does not contain '%s'", err.text, expected);
}

static void damage_is_reported_with_the_name_of_the_entry(void **state)
{
    cleanup_buffer struct buffer tar = {0};

    (void)state;
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "first", .data = "12345"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "second", .data = "12345"});
    tar_builder_end(&tar);
    unpack_damaged(&tar, 1024 + 512 + 2, "entry \"second\": archive is damaged: ");
    tar.data[1024 + 1]++; /* the checksum of the second header is wrong now */
    unpack_damaged(&tar, tar.size, "archive is damaged: ");
    unpack_damaged(&tar, 100, "archive is damaged: ");
}

/* GNU's own sparse entry (type S): data of one byte, then a hole. */
static void add_gnu_sparse(struct buffer *tar, const char *name, const char *real_size)
{
    char block[512] = {0};
    unsigned sum = 0;

    (void)snprintf(block, 100, "%s", name);
    memcpy(block + 100, "0000644", 8);
    memcpy(block + 108, "0000000", 8);
    memcpy(block + 116, "0000000", 8);
    memcpy(block + 124, "00000000001", 12);
    memcpy(block + 136, "00000000144", 12);
    memset(block + 148, ' ', 8);
    block[156] = 'S';
    memcpy(block + 257, "ustar  ", 8);
    memcpy(block + 386, "00000000000", 12);
    memcpy(block + 398, "00000000001", 12);
    memcpy(block + 483, real_size, 12);
    for (size_t i = 0; i < sizeof(block); i++)
        sum += (unsigned char)block[i];
    (void)snprintf(block + 148, 8, "%06o", sum);
    tar_builder_add_bytes(tar, block, sizeof(block));
    memset(block, 0, sizeof(block));
    block[0] = 'x';
    tar_builder_add_bytes(tar, block, sizeof(block));
}

static int unpack_bytes(struct scratch *scratch, struct buffer *tar, struct error *err)
{
    cleanup_close int fd = memfd_create("layer", MFD_CLOEXEC);
    const struct layer_options options = {.limits = &ARCHIVE_LIMITS_LAYER};
    struct unpack_counts counts = {0};

    tar_builder_end(tar);
    assert_int_equal(write(fd, tar->data, tar->size), tar->size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return layer_unpack(scratch->root_fd, &options, fd, &counts, err);
}

static void sparse_files_of_gnu_tar_have_their_whole_size(void **state)
{
    cleanup_scratch struct scratch scratch = {0};
    cleanup_buffer struct buffer tar = {0};
    cleanup_free char *tree = NULL;
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    add_gnu_sparse(&tar, "sparse", "00000010000");
    if (unpack_bytes(&scratch, &tar, &err) < 0)
        fail_msg("%s", err.text);
    tree = scratch_describe(scratch.root_fd, false);
    assert_string_equal(tree, "sparse 100000 4096 x\n");
}

/* Privileges are dropped (main can't gain any), the rest is as in the layer. */
static void modes_are_kept_without_setuid_and_setgid_of_files(void **state)
{
    static const struct {
        struct tar_spec spec;
        mode_t mode;
    } entries[] = {
        {{.name = "s", .data = "1", .mode = 06755}, 0755},
        {{.name = "t", .data = "1", .mode = 0400}, 0400},
        {{.name = "group", .type = '5', .mode = 02775}, 02775},
        {{.name = "sticky", .type = '5', .mode = 01777}, 01777},
        {{.name = "closed", .type = '5', .mode = 0555}, 0755},
    };
    cleanup_scratch struct scratch scratch = {0};
    cleanup_buffer struct buffer tar = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    for (size_t i = 0; i < array_length(entries); i++)
        tar_builder_add(&tar, &entries[i].spec);
    assert_int_equal(unpack_bytes(&scratch, &tar, &err), 0);
    for (size_t i = 0; i < array_length(entries); i++) {
        struct stat info = {0};

        assert_int_equal(fstatat(scratch.root_fd, entries[i].spec.name, &info, AT_SYMLINK_NOFOLLOW),
                         0);
        assert_int_equal(info.st_mode & 07777, entries[i].mode);
    }
}

/* With wrong times Python, for example, ignores its compiled files. */
static void times_are_those_of_the_layer(void **state)
{
    static const struct tar_spec entries[] = {
        {.name = "d", .type = '5', .mode = 0755, .pax = "mtime=1.5\n"},
        {.name = "d/f", .data = "1", .pax = "mtime=2.25\n"},
        {.name = "d/s", .type = '2', .target = "f", .pax = "mtime=3\n"},
        {.name = "d/early", .data = "1", .pax = "mtime=-9\n"},
        {.name = "l", .type = '2', .target = "d"},
        {.name = "l/inner", .type = '5', .mode = 0755, .pax = "mtime=4\n"},
        {.name = "l/inner/x", .data = "1", .pax = "mtime=5\n"},
        {.name = "d/hard", .type = '1', .target = "d/inner/x", .pax = "mtime=6\n"},
    };
    static const struct {
        const char *name;
        struct timespec mtime;
    } expected[] = {
        {"d", {1, 500000000}}, {"d/f", {2, 250000000}}, {"d/s", {3, 0}},
        {"d/early", {0, 0}},   {"d/inner", {4, 0}},     {"d/inner/x", {6, 0}},
    };
    cleanup_scratch struct scratch scratch = {0};
    cleanup_buffer struct buffer tar = {0};
    struct error err = {0};

    (void)state;
    scratch_init(&scratch);
    tar_builder_init(&tar);
    for (size_t i = 0; i < array_length(entries); i++)
        tar_builder_add(&tar, &entries[i]);
    if (unpack_bytes(&scratch, &tar, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < array_length(expected); i++) {
        struct stat info = {0};

        assert_int_equal(fstatat(scratch.root_fd, expected[i].name, &info, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(info.st_mtim.tv_sec, expected[i].mtime.tv_sec);
        assert_int_equal(info.st_mtim.tv_nsec, expected[i].mtime.tv_nsec);
    }
}

static void limits_are_enforced(void **state)
{
    static const struct tar_spec entries[] = {{.name = "a", .data = "12345"},
                                              {.name = "b", .data = "12345"}};
    struct archive_limits limits[] = {
        {.bytes_max = 9, .file_max = 100, .entries_max = 100, .depth_max = 10},
        {.bytes_max = 100, .file_max = 4, .entries_max = 100, .depth_max = 10},
        {.bytes_max = 100, .file_max = 100, .entries_max = 1, .depth_max = 10},
    };

    (void)state;
    for (size_t i = 0; i < array_length(limits); i++) {
        cleanup_scratch struct scratch scratch = {0};
        struct error err = {0};

        scratch_init(&scratch);
        assert_int_equal(unpack(&scratch, entries, 2, &limits[i], &err), -1);
        assert_int_equal(err.kind, ERROR_TOO_LARGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_applied_on_top_of_each_other),
        cmocka_unit_test(hostile_layers_are_refused_and_touch_nothing),
        cmocka_unit_test(unpacking_can_be_stopped_between_blocks),
        cmocka_unit_test(damage_is_reported_with_the_name_of_the_entry),
        cmocka_unit_test(sparse_files_of_gnu_tar_have_their_whole_size),
        cmocka_unit_test(modes_are_kept_without_setuid_and_setgid_of_files),
        cmocka_unit_test(times_are_those_of_the_layer),
        cmocka_unit_test(limits_are_enforced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
