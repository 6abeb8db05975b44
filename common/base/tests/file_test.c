/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/file.h"
#include "common/base/memory.h"
#include "common/base/tests/fault.h"

enum { LARGE = 200 * 1000 }; /* several pieces, the last one short */

static int temporary_file(void)
{
    char path[] = "/tmp/file-test-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    return fd;
}

static char *pattern(size_t size)
{
    char *bytes = xmalloc(size + 1);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i % 23);
    bytes[size] = '\0';
    return bytes;
}

static void written_data_is_read_back_and_copied(void **state)
{
    static const size_t sizes[] = {0, 1, 64 * 1024, LARGE};

    (void)state;
    for (size_t i = 0; i < array_length(sizes); i++) {
        cleanup_free char *bytes = pattern(sizes[i]);
        cleanup_close int fd = temporary_file();
        cleanup_close int copy_fd = temporary_file();
        cleanup_buffer struct buffer content = {0};
        struct error err = {0};

        buffer_init(&content, sizes[i]);
        assert_int_equal(file_write_all(fd, "f", bytes, sizes[i], &err), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(file_copy(fd, copy_fd, "f", &err), 0);
        assert_int_equal(lseek(copy_fd, 0, SEEK_SET), 0);
        assert_int_equal(file_read_all(copy_fd, "f", &content, &err), 0);
        assert_int_equal(content.size, sizes[i]);
        assert_memory_equal(content.data ? content.data : "", bytes, sizes[i]);
    }
}

static void a_file_above_the_maximum_is_refused_by_name(void **state)
{
    cleanup_close int fd = temporary_file();
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&content, 3);
    assert_int_equal(file_write_all(fd, "f", "abcd", 4, &err), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(file_read_all(fd, "f", &content, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.text, "read \"f\""));
}

static void a_pipe_that_gives_little_at_a_time_is_read_to_its_end(void **state)
{
    int ends[2] = {-1, -1};
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&content, 100);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(file_write_all(ends[1], "pipe", "ab", 2, &err), 0);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(file_read_all(ends[0], "pipe", &content, &err), 0);
    assert_string_equal(content.data, "ab");
    assert_int_equal(close(ends[0]), 0);
}

static int refuse(void *data, const char *bytes, size_t size, struct error *err)
{
    (void)data;
    (void)bytes;
    (void)size;
    return error_set(err, ERROR_CANCELLED, "enough");
}

static void the_receiver_of_pieces_can_end_the_reading(void **state)
{
    cleanup_close int fd = temporary_file();
    struct error err = {0};

    (void)state;
    assert_int_equal(file_write_all(fd, "f", "abcd", 4, &err), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(file_read_pieces(fd, "f", refuse, NULL, &err), -1);
    assert_string_equal(err.text, "enough");
}

static void an_interrupted_call_is_repeated_and_any_other_failure_names_the_file(void **state)
{
    cleanup_close int fd = temporary_file();
    cleanup_buffer struct buffer content = {0};
    struct error err = {0};

    (void)state;
    buffer_init(&content, 100);
    fault_arm("write", 1, EINTR);
    assert_int_equal(file_write_all(fd, "f", "abcd", 4, &err), 0);
    assert_true(fault_disarm());
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    fault_arm("read", 1, EINTR);
    assert_int_equal(file_read_all(fd, "f", &content, &err), 0);
    assert_true(fault_disarm());
    assert_string_equal(content.data, "abcd");

    fault_arm("write", 1, ENOSPC);
    assert_int_equal(file_write_all(fd, "f", "abcd", 4, &err), -1);
    assert_true(fault_disarm());
    assert_int_equal(err.os, ENOSPC);
    assert_non_null(strstr(err.text, "write \"f\""));
    fault_arm("read", 1, EIO);
    assert_int_equal(file_read_all(fd, "f", &content, &err), -1);
    assert_true(fault_disarm());
    assert_int_equal(err.os, EIO);
    assert_non_null(strstr(err.text, "read \"f\""));
}

static void directories_are_created_with_their_parents_and_may_exist(void **state)
{
    char root[] = "/tmp/file-test-XXXXXX";
    cleanup_free char *deep = NULL;
    cleanup_free char *below_file = NULL;
    struct stat status = {0};
    struct error err = {0};

    (void)state;
    assert_non_null(mkdtemp(root));
    deep = xasprintf("%s/a/b", root);
    for (int i = 0; i < 2; i++)
        assert_int_equal(file_make_directories(deep, 0700, &err), 0);
    assert_int_equal(stat(deep, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    below_file = xasprintf("%s/f", deep);
    assert_int_equal(close(open(below_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    free(steal(&below_file));
    for (int i = 0; i < 2; i++) {
        cleanup_free char *path = xasprintf("%s/f/c%s", deep, i ? "/d" : "");

        assert_int_equal(file_make_directories(path, 0700, &err), -1);
        assert_int_equal(err.os, ENOTDIR);
        assert_non_null(strstr(err.text, "create directory \""));
        assert_non_null(strstr(err.text, "/f/c\""));
    }
    below_file = xasprintf("%s/f", deep);
    assert_int_equal(unlink(below_file), 0);
    assert_int_equal(rmdir(deep), 0);
    *strrchr(deep, '/') = '\0';
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_data_is_read_back_and_copied),
        cmocka_unit_test(a_file_above_the_maximum_is_refused_by_name),
        cmocka_unit_test(a_pipe_that_gives_little_at_a_time_is_read_to_its_end),
        cmocka_unit_test(the_receiver_of_pieces_can_end_the_reading),
        cmocka_unit_test(an_interrupted_call_is_repeated_and_any_other_failure_names_the_file),
        cmocka_unit_test(directories_are_created_with_their_parents_and_may_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
