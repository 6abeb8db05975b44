/* SPDX-License-Identifier: Apache-2.0 */
/* Malicious archives, each unpacked with both policies, with and without openat2. scratch_done()
 * asserts that nothing outside of the root has changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/archive/beneath.h"
#include "common/archive/tests/memory_source.h"
#include "common/archive/tests/scratch.h"
#include "common/archive/tests/tar_builder.h"
#include "common/archive/unpack.h"
#include "common/base/memory.h"

enum { SPECS_MAX = 6 };
#define TIB (UINT64_C(1) << 40)

/* The expected result: an error of this kind, or this tree ("path type size contents"). */
struct outcome {
    enum error_kind kind;
    const char *tree;
};

#define TEN "123456789/"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define THOUSAND HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
#define PATH_OVER_4096 THOUSAND THOUSAND THOUSAND THOUSAND HUNDRED

static char path_4096[4200], name_256[300];

static const struct hostile {
    const char *name;
    struct tar_spec specs[SPECS_MAX];
    struct outcome blueprint, state;
} hostile[] = {
    {"plain files and directories",
     {{.name = "d", .type = '5', .mode = 0755}, {.name = "d/f", .data = "1"}, {.name = "g"}},
     {ERROR_NONE, "d 40000\nd/f 100000 1 1\ng 100000 0 \n"},
     {ERROR_NONE, "d 40000\nd/f 100000 1 1\ng 100000 0 \n"}},
    {"file without an entry for its directory",
     {{.name = "a/b/f", .data = "1"}},
     {ERROR_NONE, "a 40000\na/b 40000\na/b/f 100000 1 1\n"},
     {ERROR_NONE, "a 40000\na/b 40000\na/b/f 100000 1 1\n"}},
    {"entry for the root itself",
     {{.name = "./", .type = '5'}, {.name = "./f", .data = "1"}},
     {ERROR_NONE, "f 100000 1 1\n"},
     {ERROR_NONE, "f 100000 1 1\n"}},
    {"absolute", {{.name = "/tmp/x", .data = "1"}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"..", {{.name = "../x", .data = "1"}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"a/../../b", {{.name = "a/../../x", .data = "1"}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {".. as a directory", {{.name = "..", .type = '5'}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"file in the place of the root",
     {{.name = ".", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"newline", {{.name = "a\nb"}}, {ERROR_INVALID, 0}, {ERROR_NONE, "a\nb 100000 0 \n"}},
    {"backslash", {{.name = "..\\x"}}, {ERROR_INVALID, 0}, {ERROR_NONE, "..\\x 100000 0 \n"}},
    {"no name", {{.name = "", .data = "1"}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"path of 4096 bytes",
     {{.name = "a", .gnu_name = path_4096}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"name of 256 bytes",
     {{.name = "a", .gnu_name = name_256}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"pax path leads out",
     {{.name = "ok", .data = "1", .pax = "path=../x\n"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"pax path is absolute",
     {{.name = "ok", .data = "1", .pax = "path=/tmp/x\n"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"pax path overrides the name",
     {{.name = "../x", .data = "1", .pax = "path=ok\n"}},
     {ERROR_NONE, "ok 100000 1 1\n"},
     {ERROR_NONE, "ok 100000 1 1\n"}},
    {"GNU long name leads out",
     {{.name = "ok", .data = "1", .gnu_name = "../x"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"pax link target leads out",
     {{.name = "l", .type = '2', .target = "ok", .pax = "linkpath=../outside/secret\n"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "l 120000 -> ../outside/secret\n"}},
    {"symlink to nowhere",
     {{.name = "l", .type = '2', .target = ""}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink to the root itself",
     {{.name = "l", .type = '2', .target = "."}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "l 120000 -> .\n"}},
    {"symlink to a path that is too long",
     {{.name = "l", .type = '2', .target = "x", .pax = "linkpath=" PATH_OVER_4096 "\n"}},
     {ERROR_TOO_LARGE, 0},
     {ERROR_INVALID, 0}},
    {"negative sparse size",
     {{.name = "s",
       .pax = "GNU.sparse.size=-5\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
       .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink, then a file through it",
     {{.name = "l", .type = '2', .target = "../outside"}, {.name = "l/secret", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink inside, then a file through it",
     {{.name = "d", .type = '5'},
      {.name = "l", .type = '2', .target = "d"},
      {.name = "l/f", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink, then a directory through it",
     {{.name = "l", .type = '2', .target = "../outside"}, {.name = "l/d", .type = '5'}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink, then the same name as a directory",
     {{.name = "l", .type = '2', .target = "../outside"}, {.name = "l", .type = '5', .mode = 0700}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink, then a hard link through it",
     {{.name = "l", .type = '2', .target = "../outside"},
      {.name = "h", .type = '1', .target = "l/secret"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"hard link to a symlink that leads out",
     {{.name = "l", .type = '2', .target = "../outside/secret"},
      {.name = "h", .type = '1', .target = "l"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"chained symlinks",
     {{.name = "a/b", .type = '2', .target = ".."},
      {.name = "a/b/c", .type = '2', .target = "../.."},
      {.name = "a/b/c/x", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"symlink, then a file in its place",
     {{.name = "l", .type = '2', .target = "../outside/secret"}, {.name = "l", .data = "1"}},
     {ERROR_NONE, "l 100000 1 1\n"},
     {ERROR_NONE, "l 100000 1 1\n"}},
    {"file, then a symlink in its place",
     {{.name = "f", .data = "1"},
      {.name = "l", .data = "2"},
      {.name = "l", .type = '2', .target = "f"}},
     {ERROR_NONE, "f 100000 1 1\nl 100000 1 1\n"},
     {ERROR_NONE, "f 100000 1 1\nl 120000 -> f\n"}},
    {"symlink to a later file in another directory",
     {{.name = "a/l", .type = '2', .target = "../b/./f"}, {.name = "b/f", .data = "1"}},
     {ERROR_NONE, "a 40000\na/l 100000 1 1\nb 40000\nb/f 100000 1 1\n"},
     {ERROR_NONE, "a 40000\na/l 120000 -> ../b/./f\nb 40000\nb/f 100000 1 1\n"}},
    {"symlink over a symlink to a directory",
     {{.name = "d/f", .data = "1"},
      {.name = "l", .type = '2', .target = "d"},
      {.name = "m", .type = '2', .target = "l/f"}},
     {ERROR_INVALID, 0}, /* l itself would be a copy of a directory */
     {ERROR_NONE, "d 40000\nd/f 100000 1 1\nl 120000 -> d\nm 120000 -> l/f\n"}},
    {"symlinks in a chain to a file",
     {{.name = "1", .type = '2', .target = "2"},
      {.name = "2", .type = '2', .target = "3"},
      {.name = "3", .data = "x"}},
     {ERROR_NONE, "1 100000 1 x\n2 100000 1 x\n3 100000 1 x\n"},
     {ERROR_NONE, "1 120000 -> 2\n2 120000 -> 3\n3 100000 1 x\n"}},
    {"symlinks in a circle",
     {{.name = "1", .type = '2', .target = "2"}, {.name = "2", .type = '2', .target = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "1 120000 -> 2\n2 120000 -> 1\n"}},
    {"symlink to itself",
     {{.name = "1", .type = '2', .target = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "1 120000 -> 1\n"}},
    {"symlink to nothing",
     {{.name = "1", .type = '2', .target = "2"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "1 120000 -> 2\n"}},
    {"absolute symlink",
     {{.name = "1", .type = '2', .target = "/etc/passwd"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "1 120000 -> /etc/passwd\n"}},
    {"symlink out and in again",
     {{.name = "f", .data = "1"}, {.name = "l", .type = '2', .target = "../root/f"}},
     {ERROR_INVALID, 0},
     {ERROR_NONE, "f 100000 1 1\nl 120000 -> ../root/f\n"}},
    {"two symlinks of one name: the last wins",
     {{.name = "f", .data = "1"},
      {.name = "l", .type = '2', .target = "nothing"},
      {.name = "l", .type = '2', .target = "f"}},
     {ERROR_NONE, "f 100000 1 1\nl 100000 1 1\n"},
     {ERROR_NONE, "f 100000 1 1\nl 120000 -> f\n"}},
    {"hard link to a file before it",
     {{.name = "d/f", .data = "1"}, {.name = "e/h", .type = '1', .target = "d/f"}},
     {ERROR_NONE, "d 40000\nd/f 100000 1 1\ne 40000\ne/h 100000 1 1\n"},
     {ERROR_NONE, "d 40000\nd/f 100000 1 1\ne 40000\ne/h 100000 1 1\n"}},
    {"hard link to a later file",
     {{.name = "h", .type = '1', .target = "f"}, {.name = "f", .data = "1"}},
     {ERROR_NONE, "f 100000 1 1\nh 100000 1 1\n"},
     {ERROR_NOT_FOUND, 0}},
    {"hard link outside",
     {{.name = "h", .type = '1', .target = "../outside/secret"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"absolute hard link",
     {{.name = "h", .type = '1', .target = "/etc/passwd"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"hard link relative to the working directory",
     {{.name = "h", .type = '1', .target = "unpack_test.c"}},
     {ERROR_INVALID, 0},
     {ERROR_NOT_FOUND, 0}},
    {"hard link with data",
     {{.name = "f", .data = "1"},
      {.name = "h", .type = '1', .target = "f", .data = "evil", .pax = "size=4\n"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"hard link, then a file in its place leaves the other alone",
     {{.name = "f", .data = "1"},
      {.name = "h", .type = '1', .target = "f"},
      {.name = "h", .data = "22"}},
     {ERROR_NONE, "f 100000 1 1\nh 100000 2 22\n"},
     {ERROR_NONE, "f 100000 1 1\nh 100000 2 22\n"}},
    {"hard link to a directory",
     {{.name = "d", .type = '5'}, {.name = "h", .type = '1', .target = "d"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"character device", {{.name = "n", .type = '3'}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"block device", {{.name = "n", .type = '4'}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"FIFO", {{.name = "n", .type = '6'}}, {ERROR_INVALID, 0}, {ERROR_INVALID, 0}},
    {"duplicate: the last wins",
     {{.name = "f", .data = "longer"}, {.name = "f", .data = "1"}},
     {ERROR_NONE, "f 100000 1 1\n"},
     {ERROR_NONE, "f 100000 1 1\n"}},
    {"file over directory",
     {{.name = "d/f", .data = "1"}, {.name = "d", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"directory over file",
     {{.name = "d", .data = "1"}, {.name = "d", .type = '5'}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"file below file",
     {{.name = "d", .data = "1"}, {.name = "d/f", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"link over directory",
     {{.name = "d", .type = '5'}, {.name = "d", .type = '2', .target = "x"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"sparse file of 1 TiB",
     {{.name = "s",
       .pax = "GNU.sparse.size=1099511627776\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
       .data = "1"}},
     {ERROR_TOO_LARGE, 0},
     {ERROR_TOO_LARGE, 0}},
    {"sparse file with a hole at its end",
     {{.name = "s",
       .pax = "GNU.sparse.size=3\nGNU.sparse.numblocks=1\nGNU.sparse.map=0,1\n",
       .data = "1"}},
     {ERROR_NONE, "s 100000 3 1\n"},
     {ERROR_NONE, "s 100000 3 1\n"}},
    {"sparse map past the end of the file",
     {{.name = "s",
       .pax = "GNU.sparse.size=3\nGNU.sparse.numblocks=1\nGNU.sparse.map=1099511627776,1\n",
       .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
    {"header that claims 1 TiB",
     {{.name = "s", .size = TIB, .data = "1"}},
     {ERROR_TOO_LARGE, 0},
     {ERROR_TOO_LARGE, 0}},
    {"pax size that claims 1 TiB",
     {{.name = "s", .pax = "size=1099511627776\n", .data = "1"}},
     {ERROR_TOO_LARGE, 0},
     {ERROR_TOO_LARGE, 0}},
    {"negative pax size",
     {{.name = "s", .pax = "size=-1\n", .data = "1"}},
     {ERROR_INVALID, 0},
     {ERROR_INVALID, 0}},
};

static void set_up_long_names(void)
{
    memset(name_256, 'n', 256);
    memset(path_4096, 'p', 4096);
    for (size_t i = 100; i < 4096; i += 100)
        path_4096[i] = '/';
}

static int unpack_bytes(const struct scratch *scratch, enum unpack_policy policy,
                        const struct archive_limits *limits, const void *bytes, size_t size,
                        struct unpack_counts *ret_counts, struct error *err)
{
    const struct unpack_options options = {.policy = policy, .limits = limits};
    struct memory_source source = {.bytes = bytes, .size = size, .piece = 1000};

    return unpack_stream(scratch->root_fd, &options, memory_source_read, &source, ret_counts, err);
}

static void check_outcome(const struct hostile *test, enum unpack_policy policy,
                          const struct buffer *packed)
{
    const struct outcome *expected = policy == UNPACK_STATE ? &test->state : &test->blueprint;
    cleanup_scratch struct scratch scratch;
    cleanup_free char *tree = NULL;
    struct unpack_counts counts = {0};
    struct error err = {0};
    int result = 0;

    scratch_init(&scratch);
    result =
        unpack_bytes(&scratch, policy,
                     policy == UNPACK_STATE ? &ARCHIVE_LIMITS_STATE : &ARCHIVE_LIMITS_BLUEPRINT,
                     packed->data, packed->size, &counts, &err);
    tree = scratch_describe(scratch.root_fd, false);
    if (err.kind != expected->kind || (result == 0) != (expected->kind == ERROR_NONE) ||
        (result == 0 && strcmp(tree, expected->tree) != 0))
        fail_msg("%s, %s: %s\n%s", test->name, policy == UNPACK_STATE ? "state" : "blueprint",
                 err.text, tree);
}

static void every_hostile_archive_stays_inside(void **state)
{
    (void)state;
    set_up_long_names();
    for (size_t i = 0; i < array_length(hostile); i++) {
        cleanup_buffer struct buffer tar = {0};

        tar_builder_init(&tar);
        for (size_t j = 0; j < SPECS_MAX && hostile[i].specs[j].name; j++)
            tar_builder_add(&tar, &hostile[i].specs[j]);
        tar_builder_end(&tar);
        check_outcome(&hostile[i], UNPACK_BLUEPRINT, &tar);
        check_outcome(&hostile[i], UNPACK_STATE, &tar);
    }
}

/* A name ends at its first NUL, in every kind of header. */
static void a_nul_ends_a_name(void **state)
{
    (void)state;
    for (int policy = UNPACK_BLUEPRINT; policy <= UNPACK_STATE; policy++) {
        cleanup_buffer struct buffer tar = {0};
        cleanup_scratch struct scratch scratch;
        cleanup_free char *tree = NULL;
        struct unpack_counts counts = {0};
        struct error err = {0};
        char *mark = NULL;

        scratch_init(&scratch);
        tar_builder_init(&tar);
        tar_builder_add(&tar, &(struct tar_spec){.name = "a", .pax = "path=ok#/../../x\n"});
        tar_builder_end(&tar);
        mark = memchr(tar.data, '#', tar.size);
        assert_non_null(mark);
        *mark = '\0';
        (void)!unpack_bytes(&scratch, (enum unpack_policy)policy, &ARCHIVE_LIMITS_STATE, tar.data,
                            tar.size, &counts, &err);
        tree = scratch_describe(scratch.root_fd, false);
        assert_string_equal(tree, err.kind == ERROR_NONE ? "ok 100000 0 \n" : "");
    }
}

static void the_working_directory_does_not_matter(void **state)
{
    cleanup_buffer struct buffer tar = {0};

    (void)state;
    tar_builder_init(&tar);
    tar_builder_add(&tar, &(struct tar_spec){.name = "h", .type = '1', .target = "etc/passwd"});
    tar_builder_end(&tar);
    assert_int_equal(chdir("/"), 0);
    for (int policy = UNPACK_BLUEPRINT; policy <= UNPACK_STATE; policy++) {
        cleanup_scratch struct scratch scratch;
        struct unpack_counts counts = {0};
        struct error err = {0};

        scratch_init(&scratch);
        assert_int_equal(unpack_bytes(&scratch, (enum unpack_policy)policy, &ARCHIVE_LIMITS_STATE,
                                      tar.data, tar.size, &counts, &err),
                         -1);
    }
}

static void add_small_tree(struct buffer *tar)
{
    tar_builder_init(tar);
    tar_builder_add(tar, &(struct tar_spec){.name = "d", .type = '5', .mode = 0750});
    tar_builder_add(tar, &(struct tar_spec){.name = "d/f", .data = "contents", .mode = 06755});
    tar_builder_add(tar, &(struct tar_spec){.name = "zero", .data = "0", .mode = 01000});
    tar_builder_end(tar);
}

static void modes_of_state_are_restored_and_those_of_blueprints_are_not(void **state)
{
    static const struct {
        enum unpack_policy policy;
        mode_t directory, file, zero;
    } cases[] = {{UNPACK_BLUEPRINT, 02755, 0644, 0644}, {UNPACK_STATE, 02750, 0755, 0}};
    mode_t mask = umask(022);

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_buffer struct buffer tar = {0};
        cleanup_scratch struct scratch scratch;
        struct unpack_counts counts = {0};
        struct error err = {0};
        struct stat stat = {0};

        scratch_init(&scratch);
        assert_int_equal(fchmod(scratch.root_fd, 02777), 0); /* a volume with fsGroup */
        add_small_tree(&tar);
        assert_int_equal(unpack_bytes(&scratch, cases[i].policy, &ARCHIVE_LIMITS_STATE, tar.data,
                                      tar.size, &counts, &err),
                         0);
        assert_int_equal(fstatat(scratch.root_fd, "d", &stat, 0), 0);
        assert_int_equal(stat.st_mode & 07777, cases[i].directory);
        assert_int_equal(fstatat(scratch.root_fd, "d/f", &stat, 0), 0);
        assert_int_equal(stat.st_mode & 07777, cases[i].file);
        if (cases[i].policy == UNPACK_STATE)
            assert_int_equal(stat.st_mtim.tv_sec, 0144);
        assert_int_equal(fstatat(scratch.root_fd, "zero", &stat, 0), 0);
        assert_int_equal(stat.st_mode & 07777, cases[i].zero);
    }
    (void)umask(mask);
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
        cmocka_unit_test_setup(every_hostile_archive_stays_inside, by_walk),
        cmocka_unit_test_setup(every_hostile_archive_stays_inside, by_kernel),
        cmocka_unit_test(a_nul_ends_a_name),
        cmocka_unit_test(the_working_directory_does_not_matter),
        cmocka_unit_test(modes_of_state_are_restored_and_those_of_blueprints_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
