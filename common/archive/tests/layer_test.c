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

/* Two layers, one upon the other, and what is there afterwards. */
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
    {"an opaque directory forgets what was in it",
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
    {"a path through a link of a lower layer goes where it leads in the container",
     {{.name = "usr/lib", .type = '5'}, {.name = "lib", .type = '2', .target = "usr/lib"}},
     {{.name = "lib/x", .data = "1"}},
     "lib 120000 -> usr/lib\nusr 40000\nusr/lib 40000\nusr/lib/x 100000 1 1\n"},
    {"a directory over a link to one keeps the link",
     {{.name = "usr/lib", .type = '5'}, {.name = "lib", .type = '2', .target = "usr/lib"}},
     {{.name = "lib", .type = '5'}, {.name = "lib/x", .data = "1"}},
     "lib 120000 -> usr/lib\nusr 40000\nusr/lib 40000\nusr/lib/x 100000 1 1\n"},
    {"an absolute link leads to the container's root, not to ours",
     {{.name = "l", .type = '2', .target = "/"}},
     {{.name = "l/inside", .data = "1"}},
     "inside 100000 1 1\nl 120000 -> /\n"},
    {"dot dot of a link stops at the container's root",
     {{.name = "l", .type = '2', .target = "../../.."}},
     {{.name = "l/outside/x", .data = "1"}},
     "l 120000 -> ../../..\noutside 40000\noutside/x 100000 1 1\n"},
    {"hard links stay one file with what they name",
     {{.name = "a", .data = "1"}},
     {{.name = "b", .type = '1', .target = "a"}},
     "a 100000 1 1\nb 100000 1 1\n"},
    {"devices and FIFOs are left out",
     {{.name = "a", .data = "1"}},
     {{.name = "fifo", .type = '6'}, {.name = "null", .type = '3'}},
     "a 100000 1 1\n"},
};

static void layers_lie_upon_each_other(void **state)
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
    {"absolute", {{.name = "/x", .data = "1"}}},
    {"hard link outside", {{.name = "h", .type = '1', .target = "../outside/secret"}}},
    {"hard link by an absolute name", {{.name = "h", .type = '1', .target = "/etc/passwd"}}},
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

static void unpack_damaged(const struct buffer *tar, size_t size, const char *words)
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
    if (!strstr(err.text, words))
        fail_msg("'%s' does not say '%s'", err.text, words);
}

static void damage_is_told_with_the_entry_that_it_met(void **state)
{
    cleanup_buffer struct buffer tar = {0};

    (void)state;
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "first", .data = "12345"});
    tar_builder_add(&tar, &(struct tar_spec){.name = "second", .data = "12345"});
    tar_builder_end(&tar);
    unpack_damaged(&tar, 1024 + 512 + 2, "entry 'second': broken archive: ");
    tar.data[1024 + 1]++; /* the checksum of the second header is wrong now */
    unpack_damaged(&tar, tar.size, "broken archive: ");
    unpack_damaged(&tar, 100, "no tar archive: ");
}

static void modes_lose_what_gives_privileges(void **state)
{
    static const struct tar_spec entries[] = {{.name = "s", .data = "1", .mode = 06755}};
    cleanup_scratch struct scratch scratch = {0};
    struct error err = {0};
    struct stat info = {0};

    (void)state;
    scratch_init(&scratch);
    assert_int_equal(unpack(&scratch, entries, 1, &ARCHIVE_LIMITS_LAYER, &err), 0);
    assert_int_equal(fstatat(scratch.root_fd, "s", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(info.st_mode & 07777, 0755);
}

static void limits_hold(void **state)
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
        cmocka_unit_test(layers_lie_upon_each_other),
        cmocka_unit_test(hostile_layers_are_refused_and_touch_nothing),
        cmocka_unit_test(damage_is_told_with_the_entry_that_it_met),
        cmocka_unit_test(modes_lose_what_gives_privileges),
        cmocka_unit_test(limits_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
