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

#include "common/archive/beneath.h"
#include "common/archive/tests/scratch.h"
#include "common/base/memory.h"

static char long_name[400], long_path[5000], deep_path[400];

static const struct {
    const char *path;
    const char *plain; /* NULL: refused */
    const char *any;   /* result of beneath_clean_any_path() */
} paths[] = {
    {"a", "a", "a"},
    {"", "", ""},
    {".", "", ""},
    {"./", "", ""},
    {"a/b/c", "a/b/c", "a/b/c"},
    {"./a//b/./c/", "a/b/c", "a/b/c"},
    {"...", "...", "..."},
    {"..a/b..", "..a/b..", "..a/b.."},
    {" a b ", " a b ", " a b "},
    {"\xc3\xa9", "\xc3\xa9", "\xc3\xa9"},
    {"\xff", "\xff", "\xff"},
    {"/a", NULL, NULL},
    {"/", NULL, NULL},
    {"//a", NULL, NULL},
    {"..", NULL, NULL},
    {"../a", NULL, NULL},
    {"a/..", NULL, NULL},
    {"a/../../b", NULL, NULL},
    {"a/../b", NULL, NULL},
    {"./../a", NULL, NULL},
    {"a\nb", NULL, "a\nb"},
    {"a\x7f", NULL, "a\x7f"},
    {"\x01", NULL, "\x01"},
    {"a\\b", NULL, "a\\b"},
    {"..\\..\\a", NULL, "..\\..\\a"},
    {"C:\\a", NULL, "C:\\a"},
    {long_name, NULL, NULL},
    {long_path, NULL, NULL},
    {deep_path, NULL, NULL},
};

static void cleans_relative_paths_and_refuses_the_rest(void **state)
{
    (void)state;
    memset(long_name, 'n', 256);
    memset(long_path, 'p', 4096);
    for (size_t i = 200; i < 4096; i += 200)
        long_path[i] = '/';
    for (size_t i = 0; i < 65 * 2; i++)
        deep_path[i] = i % 2 ? '/' : 'd';
    for (size_t i = 0; i < array_length(paths); i++) {
        for (int is_any = 0; is_any < 2; is_any++) {
            const char *expected = is_any ? paths[i].any : paths[i].plain;
            cleanup_free char *path = NULL;
            struct error err = {0};
            int result = is_any ? beneath_clean_any_path(paths[i].path, 64, &path, &err)
                                : beneath_clean_path(paths[i].path, 64, &path, &err);

            if (expected) {
                assert_int_equal(result, 0);
                assert_string_equal(path, expected);
                continue;
            }
            assert_int_equal(result, -1);
            assert_null(path);
            assert_true(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
            assert_null(strpbrk(err.text, "\n\x01\x7f"));
        }
    }
}

static void limits_are_exact(void **state)
{
    cleanup_free char *path = NULL, *deep = NULL;
    struct error err = {0};
    char name[256];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[255] = '\0';
    assert_int_equal(beneath_clean_path(name, 1, &path, &err), 0);
    assert_int_equal(beneath_clean_path("a/b/c", 3, &deep, &err), 0);
    assert_int_equal(beneath_clean_path("a/b/c", 2, &deep, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static const struct {
    const char *path, *shown;
} shown[] = {
    {"a/b", "a/b"},
    {"a\nb\x1b[31m", "a?b?[31m"},
    {"\xc3\xa9\xff\xc3", "\xc3\xa9??"},
    {"\xed\xa0\x80", "???"},
    {"\xf4\x90\x80\x80", "????"},
    {"\xe2\x82\xac\xf0\x9f\x9a\xa2", "\xe2\x82\xac\xf0\x9f\x9a\xa2"},
};

static void shown_paths_are_truncated_and_have_no_control_characters(void **state)
{
    struct beneath_shown cut = beneath_show(long_path);

    (void)state;
    for (size_t i = 0; i < array_length(shown); i++)
        assert_string_equal(beneath_show(shown[i].path).text, shown[i].shown);
    assert_true(strlen(cut.text) < sizeof(cut.text));
    assert_string_equal(cut.text + strlen(cut.text) - 3, "...");
}

static void make_socket(const struct scratch *scratch)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/socket", scratch->path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
}

/* root/: file, dir/file, fifo, socket, and symlinks of every sort. */
static void furnish(const struct scratch *scratch)
{
    int root = scratch->root_fd;

    scratch_write(root, "file", "file");
    assert_int_equal(mkdirat(root, "dir", 0777), 0);
    scratch_write(root, "dir/file", "below");
    assert_int_equal(mkfifoat(root, "fifo", 0666), 0);
    make_socket(scratch);
    assert_int_equal(symlinkat("file", root, "link"), 0);
    assert_int_equal(symlinkat("dir", root, "link-dir"), 0);
    assert_int_equal(symlinkat("../outside", root, "out"), 0);
    assert_int_equal(symlinkat("/proc/self/root", root, "magic"), 0);
    assert_int_equal(symlinkat("nowhere", root, "dangling"), 0);
}

static const struct {
    const char *path;
    enum error_kind file, directory; /* what opening it as such gives */
} opened[] = {
    {"file", ERROR_NONE, ERROR_INVALID},
    {"./dir//file", ERROR_NONE, ERROR_INVALID},
    {"dir", ERROR_INVALID, ERROR_NONE},
    {"dir/.", ERROR_INVALID, ERROR_NONE},
    {"", ERROR_INVALID, ERROR_NONE},
    {".", ERROR_INVALID, ERROR_NONE},
    {"missing", ERROR_NOT_FOUND, ERROR_NOT_FOUND},
    {"missing/file", ERROR_NOT_FOUND, ERROR_NOT_FOUND},
    {"fifo", ERROR_INVALID, ERROR_INVALID},
    {"socket", ERROR_INVALID, ERROR_INVALID},
    {"link", ERROR_INVALID, ERROR_INVALID},
    {"dangling", ERROR_INVALID, ERROR_INVALID},
    {"link-dir", ERROR_INVALID, ERROR_INVALID},
    {"link-dir/file", ERROR_INVALID, ERROR_INVALID},
    {"out/secret", ERROR_INVALID, ERROR_INVALID},
    {"magic/etc/passwd", ERROR_INVALID, ERROR_INVALID},
    {"file/x", ERROR_INVALID, ERROR_INVALID},
    {"../outside/secret", ERROR_INVALID, ERROR_INVALID},
    {"dir/../file", ERROR_INVALID, ERROR_INVALID},
    {"/etc/passwd", ERROR_INVALID, ERROR_INVALID},
};

static void opens_what_is_beneath_and_regular_only(void **state)
{
    cleanup_scratch struct scratch scratch;

    (void)state;
    scratch_init(&scratch);
    furnish(&scratch);
    for (size_t i = 0; i < array_length(opened); i++) {
        struct error file_err = {0}, directory_err = {0};
        struct stat stat = {0};
        cleanup_close int file_fd =
            beneath_open_file(scratch.root_fd, opened[i].path, &stat, &file_err);
        cleanup_close int directory_fd =
            beneath_open_directory(scratch.root_fd, opened[i].path, &directory_err);

        if (file_err.kind != opened[i].file || directory_err.kind != opened[i].directory)
            fail_msg("'%s': file: %s, directory: %s", opened[i].path, file_err.text,
                     directory_err.text);
        assert_int_equal(file_fd >= 0, opened[i].file == ERROR_NONE);
        assert_int_equal(directory_fd >= 0, opened[i].directory == ERROR_NONE);
        if (file_fd >= 0) {
            assert_true(S_ISREG(stat.st_mode));
            assert_int_equal(fcntl(file_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        }
    }
}

static const struct {
    const char *path;
    enum error_kind made, created, linked; /* directory, file, symlink of this name */
} made[] = {
    {"new", ERROR_NONE, ERROR_NONE, ERROR_NONE},
    {"a/b/c", ERROR_NONE, ERROR_NONE, ERROR_NONE},
    {"dir/x", ERROR_NONE, ERROR_NONE, ERROR_NONE},
    {"dir", ERROR_NONE, ERROR_INVALID, ERROR_INVALID},
    {"file", ERROR_INVALID, ERROR_NONE, ERROR_NONE},
    {"link", ERROR_INVALID, ERROR_NONE, ERROR_NONE},
    {"out", ERROR_INVALID, ERROR_NONE, ERROR_NONE},
    {"fifo", ERROR_INVALID, ERROR_NONE, ERROR_NONE},
    {"file/x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"out/x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"out/x/y", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"link-dir/x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"dangling/x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"../x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"/tmp/x", ERROR_INVALID, ERROR_INVALID, ERROR_INVALID},
    {"", ERROR_NONE, ERROR_INVALID, ERROR_INVALID},
};

enum what { WHAT_DIRECTORY, WHAT_FILE, WHAT_SYMLINK, WHATS };

static enum error_kind make_one(const struct scratch *scratch, const char *path, enum what what,
                                struct error *err)
{
    int fd = -1;

    switch (what) {
    case WHAT_DIRECTORY:
        fd = beneath_make_directories(scratch->root_fd, path, err);
        break;
    case WHAT_FILE:
        fd = beneath_create_file(scratch->root_fd, path, 0666, err);
        break;
    case WHAT_SYMLINK:
    case WHATS:
        return beneath_make_symlink(scratch->root_fd, path, "../outside/secret", err) < 0
                   ? err->kind
                   : ERROR_NONE;
    }
    assert_int_equal(fd < 0, err->kind != ERROR_NONE);
    closep(&fd);
    return err->kind;
}

static void makes_things_beneath_only_and_never_through_a_link(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(made); i++) {
        const enum error_kind expected[] = {made[i].made, made[i].created, made[i].linked};

        for (enum what what = WHAT_DIRECTORY; what < WHATS; what++) {
            cleanup_scratch struct scratch scratch;
            struct error err = {0};

            scratch_init(&scratch);
            furnish(&scratch);
            if (make_one(&scratch, made[i].path, what, &err) != expected[what])
                fail_msg("'%s' as %d: %s", made[i].path, what, err.text);
        }
    }
}

static void writes_whole_files_in_the_place_of_anything_but_a_directory(void **state)
{
    static const char *const names[] = {"new", "a/b", "file", "link", "out", "fifo", "dangling"};

    (void)state;
    for (size_t i = 0; i < array_length(names); i++) {
        cleanup_scratch struct scratch scratch;
        cleanup_free char *text = NULL, *listing = NULL;
        struct error err = {0};

        scratch_init(&scratch);
        furnish(&scratch);
        assert_int_equal(beneath_write_file(scratch.root_fd, names[i], "new", 3, 0600, &err), 0);
        text = scratch_read(scratch.root_fd, names[i]);
        assert_string_equal(text, "new");
        listing = scratch_describe(scratch.root_fd, false);
        assert_null(strstr(listing, ".longshore-"));
        assert_int_equal(beneath_write_file(scratch.root_fd, "dir", "new", 3, 0600, &err), -1);
        free(listing);
        listing = scratch_describe(scratch.root_fd, false);
        assert_null(strstr(listing, ".longshore-"));
    }
}

static void links_regular_files_only(void **state)
{
    static const struct {
        const char *existing;
        enum error_kind kind;
    } cases[] = {
        {"file", ERROR_NONE},    {"dir/file", ERROR_NONE},       {"missing", ERROR_NOT_FOUND},
        {"dir", ERROR_INVALID},  {"link", ERROR_INVALID},        {"out/secret", ERROR_INVALID},
        {"../x", ERROR_INVALID}, {"/etc/passwd", ERROR_INVALID}, {"fifo", ERROR_INVALID},
        {"", ERROR_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_scratch struct scratch scratch;
        struct error err = {0};

        scratch_init(&scratch);
        furnish(&scratch);
        (void)!beneath_make_link(scratch.root_fd, "n/ew", cases[i].existing, &err);
        assert_int_equal(err.kind, cases[i].kind);
    }
}

static void the_set_gid_bit_of_the_volume_lives(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_close int fd = -1;
    struct error err = {0};
    struct stat stat = {0};

    (void)state;
    scratch_init(&scratch);
    assert_int_equal(fchmod(scratch.root_fd, 02777), 0);
    fd = beneath_make_directories(scratch.root_fd, "a/b", &err);
    assert_int_equal(fstat(fd, &stat), 0);
    assert_int_equal(stat.st_mode & S_ISGID, S_ISGID);
}

static void removes_deep_wide_and_locked_trees_and_nothing_else(void **state)
{
    cleanup_scratch struct scratch scratch;
    cleanup_free char *listing = NULL;
    struct error err = {0};
    int fd = -1;

    (void)state;
    scratch_init(&scratch);
    furnish(&scratch);
    assert_int_equal(mkdirat(scratch.root_fd, "tree", 0777), 0);
    assert_int_equal(symlinkat("../../outside", scratch.root_fd, "tree/out"), 0);
    fd = openat(scratch.root_fd, "tree", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 1200; i++) { /* deeper than there are descriptors or PATH_MAX */
        int next = -1;

        assert_int_equal(mkdirat(fd, "d", 0777), 0);
        if (i < 50)
            scratch_write(fd, "f", "x");
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        if (i % 400 == 200)
            assert_int_equal(fchmod(next, 0777), 0);
        (void)close(fd);
        fd = next;
    }
    assert_int_equal(fchmod(fd, 0), 0);
    (void)close(fd);
    for (int i = 0; i < 500; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "tree/%d", i);
        scratch_write(scratch.root_fd, name, "");
    }
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "tree", &err), 0);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "tree", &err), 0);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "no/such/thing", &err), 0);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "out", &err), 0);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "link-dir/file", &err), -1);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "", &err), -1);
    listing = scratch_describe(scratch.root_fd, false);
    assert_null(strstr(listing, "tree"));
    assert_null(strstr(listing, "out"));
    assert_non_null(strstr(listing, "dir/file"));
}

static void other_file_systems_are_not_beneath(void **state)
{
    cleanup_close int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = {0};

    (void)state;
    assert_int_equal(beneath_open_directory(root_fd, "proc", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "\"proc\" is on another file system");
}

static void paths_that_lead_out_are_refused_by_name(void **state)
{
    cleanup_scratch struct scratch scratch;
    const char *name = NULL;
    struct error errs[3] = {0};

    (void)state;
    scratch_init(&scratch);
    assert_int_equal(beneath_open_parent(scratch.root_fd, "../x", false, &name, &errs[0]), -1);
    assert_int_equal(beneath_write_file(scratch.root_fd, "../x", "1", 1, 0600, &errs[1]), -1);
    assert_int_equal(beneath_remove_tree(scratch.root_fd, "../x", &errs[2]), -1);
    for (size_t i = 0; i < array_length(errs); i++) {
        assert_int_equal(errs[i].kind, ERROR_INVALID);
        assert_non_null(strstr(errs[i].text, "\"../x\""));
    }
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

#define both(test_)                                                                                \
    {#test_ " (openat2)", test_, by_kernel, NULL, NULL},                                           \
    {                                                                                              \
#test_ " (walk)", test_, by_walk, NULL, NULL                                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleans_relative_paths_and_refuses_the_rest),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(shown_paths_are_truncated_and_have_no_control_characters),
        both(opens_what_is_beneath_and_regular_only),
        both(makes_things_beneath_only_and_never_through_a_link),
        both(writes_whole_files_in_the_place_of_anything_but_a_directory),
        both(links_regular_files_only),
        both(the_set_gid_bit_of_the_volume_lives),
        both(removes_deep_wide_and_locked_trees_and_nothing_else),
        both(other_file_systems_are_not_beneath),
        both(paths_that_lead_out_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
