/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "scratch.h"
#include "wait/export.h"

/* ---- faults while the file is read ---- */

static struct fake {
    void (*after_read)(int fd); /* called once, after the first bytes were read */
    bool is_clock_coarse;       /* fstat() reports time stamps and size of before */
    bool has_before;
    struct stat before;
} fake;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
int __real_fstat(int fd, struct stat *ret_stat);
int __wrap_fstat(int fd, struct stat *ret_stat);

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    ssize_t result = __real_read(fd, buffer, size);
    void (*after_read)(int fd) = fake.after_read;

    if (after_read && result > 0) {
        fake.after_read = NULL;
        after_read(fd);
    }
    return result;
}

int __wrap_fstat(int fd, struct stat *ret_stat)
{
    int result = __real_fstat(fd, ret_stat);

    if (result < 0 || !S_ISREG(ret_stat->st_mode))
        return result;
    if (!fake.has_before)
        fake.before = *ret_stat;
    else if (fake.is_clock_coarse)
        *ret_stat = fake.before;
    fake.has_before = true;
    return result;
}

static int set_up(void **state)
{
    const struct scratch *scratch = NULL;

    fake = (struct fake){0};
    if (scratch_set_up(state) < 0)
        return -1;
    scratch = *state;
    return mkdirat(scratch->fd, "exports", 0700);
}

static struct volume_place place_of(struct scratch *scratch)
{
    static char values[] = "exports/values";

    return (struct volume_place){
        .root_path = scratch->path, .root_fd = scratch->fd, .path = values};
}

static const struct {
    const char *name, *text;
    enum error_kind kind; /* ERROR_NONE: good; ERROR_NOT_FOUND: nothing is exported */
    const char *message;  /* part of it */
} texts[] = {
    {"json", "{\"a\": 1}", ERROR_NONE, NULL},
    {"json with tabs", "{\n\t\"a\":\t[1,\n\t2]\n}\n", ERROR_NONE, NULL},
    {"empty object", "{}", ERROR_NONE, NULL},
    {"empty object after blanks", " \n {\n}\n", ERROR_NONE, NULL},
    {"yaml", "a: 1\nb:\n- c\n- d: e\n", ERROR_NONE, NULL},
    {"yaml flow", "{a: 1, b: [c]}", ERROR_NONE, NULL},
    {"yaml flow with a quoted key", "{\"a\": b}", ERROR_NONE, NULL},
    {"yaml with document start", "---\na: 1\n", ERROR_NONE, NULL},
    {"nothing", "", ERROR_NOT_FOUND, "is empty"},
    {"blanks", " \n\n", ERROR_NOT_FOUND, "is empty"},
    {"a comment", "# nothing today\n", ERROR_NOT_FOUND, "is empty"},
    {"null", "null\n", ERROR_NOT_FOUND, "is empty"},
    {"list", "[1, 2]", ERROR_INVALID,
     "line 1, column 1: expected an object (key: value), got a list"},
    {"yaml list", "- a\n- b\n", ERROR_INVALID, "got a list"},
    {"string", "\"text\"", ERROR_INVALID, "got a string"},
    {"word", "total 4\n", ERROR_INVALID, "got a string"},
    {"number", "12\n", ERROR_INVALID, "got a number"},
    {"boolean", "yes\n", ERROR_INVALID, "got a boolean"},
    {"json cut off", "{\"a\": 1,\n \"b\": ", ERROR_INVALID, "line 2, column"},
    {"json with a wrong value", "{\"a\": 1,\n\n \"b\": truth}", ERROR_NONE, NULL}, /* valid YAML */
    {"yaml with bad indentation", "a: 1\nb:\n  c: d\n e: f\n", ERROR_INVALID, "line 4, column"},
    {"yaml with an open quote", "a: 1\nb: 'x\n", ERROR_INVALID, "line "},
    {"duplicate key", "a: 1\nb: 2\na: 3\n", ERROR_INVALID, "line 3, column 1"},
    {"duplicate key in json", "{\"a\": 1, \"a\": 2}", ERROR_INVALID, "line 1, column"},
    {"two documents", "a: 1\n---\nb: 2\n", ERROR_INVALID, "line "},
};

static void an_export_is_one_object_and_syntax_errors_have_line_and_column(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);

    for (size_t i = 0; i < array_length(texts); i++) {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};
        int result = 0;

        print_message("%s\n", texts[i].name);
        scratch_write(scratch, "exports/values", texts[i].text, strlen(texts[i].text));
        result = export_read(&place, &bytes, &err);
        if (texts[i].kind == ERROR_NONE) {
            assert_int_equal(result, 0);
            assert_string_equal(bytes.data, texts[i].text); /* unchanged, not reformatted */
            continue;
        }
        print_message("    %s\n", err.text);
        assert_int_equal(result, -1);
        assert_int_equal(err.kind, texts[i].kind);
        assert_non_null(strstr(err.text, texts[i].message));
        assert_non_null(strstr(err.text, "$" ENV_EXPORTS_PATH));
        assert_null(bytes.data);
    }
}

static void a_missing_file_or_directory_exports_nothing(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    assert_int_equal(export_read(&place, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_int_equal(unlinkat(scratch->fd, "exports", AT_REMOVEDIR), 0);
    assert_int_equal(export_read(&place, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* Main owns the volume and can replace the file by anything. */
static void anything_but_a_regular_file_is_an_error(void **state)
{
    static const char *const kinds[] = {"symlink to a secret", "dangling symlink",
                                        "symlink to a file of its own", "FIFO", "directory"};
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);

    scratch_write(scratch, "token", "{\"token\": \"canary\"}", 19);
    for (size_t i = 0; i < array_length(kinds); i++) {
        cleanup_free char *absolute = xasprintf("%s/token", scratch->path);
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        print_message("%s\n", kinds[i]);
        switch (i) {
        case 0:
            assert_int_equal(symlinkat(absolute, scratch->fd, "exports/values"), 0);
            break;
        case 1:
            assert_int_equal(symlinkat("/nowhere", scratch->fd, "exports/values"), 0);
            break;
        case 2:
            assert_int_equal(symlinkat("../token", scratch->fd, "exports/values"), 0);
            break;
        case 3:
            assert_int_equal(mkfifoat(scratch->fd, "exports/values", 0600), 0);
            break;
        default:
            assert_int_equal(mkdirat(scratch->fd, "exports/values", 0700), 0);
            break;
        }
        assert_int_equal(export_read(&place, &bytes, &err), -1);
        print_message("    %s\n", err.text);
        assert_int_not_equal(err.kind, ERROR_NOT_FOUND);
        assert_non_null(strstr(err.text, "$" ENV_EXPORTS_PATH));
        assert_null(strstr(err.text, "canary"));
        assert_null(bytes.data);
        assert_int_equal(unlinkat(scratch->fd, "exports/values", i == 4 ? AT_REMOVEDIR : 0), 0);
    }
}

static void a_directory_replaced_by_a_symlink_is_not_followed(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    assert_int_equal(mkdirat(scratch->fd, "elsewhere", 0700), 0);
    scratch_write(scratch, "elsewhere/values", "{}", 2);
    assert_int_equal(unlinkat(scratch->fd, "exports", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("elsewhere", scratch->fd, "exports"), 0);
    assert_int_equal(export_read(&place, &bytes, &err), -1);
    assert_int_not_equal(err.kind, ERROR_NOT_FOUND);
    assert_null(bytes.data);
}

static void the_size_is_limited_to_that_of_a_secret(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);
    cleanup_free char *text = xmalloc(EXPORT_MAX_BYTES + 1);
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    memset(text, ' ', EXPORT_MAX_BYTES + 1);
    text[0] = '{';
    text[1] = '}';
    scratch_write(scratch, "exports/values", text, EXPORT_MAX_BYTES);
    assert_int_equal(export_read(&place, &bytes, &err), 0);
    assert_int_equal(bytes.size, EXPORT_MAX_BYTES);
    buffer_done(&bytes);
    scratch_write(scratch, "exports/values", text, EXPORT_MAX_BYTES + 1);
    assert_int_equal(export_read(&place, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "1048577 bytes are more than the maximum of 1048576"));
}

static void a_huge_sparse_file_is_refused_without_reading_it(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};
    int fd = openat(scratch->fd, "exports/values", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 1LL << 40), 0);
    (void)close(fd);
    assert_int_equal(export_read(&place, &bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

/* fd itself is read-only. */
static int open_writable(int fd)
{
    cleanup_free char *path = xasprintf("/proc/self/fd/%d", fd);
    int writable_fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(writable_fd >= 0);
    return writable_fd;
}

static void set_mtime(int fd, struct timespec mtime)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime};

    assert_int_equal(futimens(fd, times), 0);
}

static void overwrite(int fd)
{
    cleanup_close int writable_fd = open_writable(fd);

    assert_int_equal(pwrite(writable_fd, "{\"a\": 2}", 8, 0), 8);
    set_mtime(writable_fd, (struct timespec){.tv_sec = 1});
}

/* A hostile main can restore the modification time, but not the change time. */
static void overwrite_and_restore_mtime(int fd)
{
    cleanup_close int writable_fd = open_writable(fd);
    struct stat now = {0};

    assert_int_equal(pwrite(writable_fd, "{\"a\": 2}", 8, 0), 8);
    do {
        set_mtime(writable_fd, fake.before.st_mtim);
        assert_int_equal(__real_fstat(writable_fd, &now), 0);
    } while (now.st_ctim.tv_sec == fake.before.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == fake.before.st_ctim.tv_nsec);
}

static void append(int fd)
{
    cleanup_close int writable_fd = open_writable(fd);

    assert_int_equal(pwrite(writable_fd, "  \n", 3, 8), 3);
}

static const struct {
    const char *name;
    void (*change)(int fd);
    bool is_clock_coarse;
} changes[] = {
    {"overwritten with as many bytes", overwrite, false},
    {"overwritten, and its modification time restored", overwrite_and_restore_mtime, false},
    {"longer", append, false},
    /* Within one tick of the kernel's clock the time stamps stay the same. */
    {"longer, within one tick of the clock", append, true},
};

static void a_file_that_changes_while_it_is_read_is_refused(void **state)
{
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);

    for (size_t i = 0; i < array_length(changes); i++) {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        print_message("%s\n", changes[i].name);
        scratch_write(scratch, "exports/values", "{\"a\": 1}", 8);
        fake = (struct fake){.after_read = changes[i].change,
                             .is_clock_coarse = changes[i].is_clock_coarse};
        assert_int_equal(export_read(&place, &bytes, &err), -1);
        assert_null(fake.after_read);
        assert_int_equal(err.kind, ERROR_CONFLICT);
        assert_non_null(strstr(err.text, "changed while it was read"));
        assert_null(bytes.data);
    }
}

static void messages_never_quote_the_content(void **state)
{
    static const char *const broken[] = {
        "{\"a\": \"canary",
        "a: \"canary\n",
        "a: canary\n b: canary\n",
        "- canary\n",
        "canary",
        "{\"a\": 1} canary",
        "a: [canary\n",
        "{\"a\" canary}",
        "a: !canary {b}\n: - x",
        "a: &x canary\nb: *y\nc: }",
    };
    struct scratch *scratch = *state;
    struct volume_place place = place_of(scratch);

    for (size_t i = 0; i < array_length(broken); i++) {
        cleanup_buffer struct buffer bytes = {0};
        struct error err = {0};

        scratch_write(scratch, "exports/values", broken[i], strlen(broken[i]));
        assert_int_equal(export_read(&place, &bytes, &err), -1);
        print_message("%s\n", err.text);
        assert_null(strstr(err.text, "canary"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_export_is_one_object_and_syntax_errors_have_line_and_column, set_up,
            scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_missing_file_or_directory_exports_nothing, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(anything_but_a_regular_file_is_an_error, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_directory_replaced_by_a_symlink_is_not_followed, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_size_is_limited_to_that_of_a_secret, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_huge_sparse_file_is_refused_without_reading_it, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_changes_while_it_is_read_is_refused, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(messages_never_quote_the_content, set_up,
                                        scratch_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
