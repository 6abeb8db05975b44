/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/token.h"

struct fixture {
    char folder[64];
    char *path, *aside;
    struct kube_token token;
    uint64_t now_ms;
};

static int setup(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));

    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/longshore-token-test.XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    fixture->path = xasprintf("%s/token", fixture->folder);
    fixture->aside = xasprintf("%s/aside", fixture->folder);
    kube_token_init(&fixture->token, NULL, fixture->path);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    kube_token_done(&fixture->token);
    (void)unlink(fixture->path);
    (void)unlink(fixture->aside);
    (void)rmdir(fixture->folder);
    free(fixture->path);
    free(fixture->aside);
    free(fixture);
    return 0;
}

/* Always with the same mtime, so that only what the test changes can be detected. */
static void write_token(const char *path, const char *text)
{
    static const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(futimens(fd, times), 0);
}

static const char *get(struct fixture *fixture)
{
    const char *text = NULL;
    struct error err = {0};

    assert_int_equal(kube_token_get(&fixture->token, fixture->now_ms, &text, &err), 0);
    return text;
}

static void a_fixed_token_or_none_needs_no_file(void **state)
{
    struct kube_token fixed = {0};
    struct kube_token none = {0};
    const char *text = NULL;
    struct error err = {0};

    (void)state;
    kube_token_init(&fixed, "fixed", NULL);
    kube_token_init(&none, NULL, NULL);
    assert_int_equal(kube_token_get(&fixed, 0, &text, &err), 0);
    assert_string_equal(text, "fixed");
    assert_int_equal(kube_token_get(&none, 0, &text, &err), 0);
    assert_null(text);
    kube_token_done(&fixed);
    kube_token_done(&none);
}

static void a_replaced_file_is_read(void **state)
{
    struct fixture *fixture = *state;

    write_token(fixture->path, "one");
    assert_string_equal(get(fixture), "one");
    write_token(fixture->aside, "two");
    assert_int_equal(rename(fixture->aside, fixture->path), 0);
    assert_string_equal(get(fixture), "two");
}

static void an_overwritten_file_is_read_because_its_mtime_changed(void **state)
{
    static const struct timespec later[2] = {{.tv_sec = 1, .tv_nsec = 1},
                                             {.tv_sec = 1, .tv_nsec = 1}};
    struct fixture *fixture = *state;

    write_token(fixture->path, "one");
    assert_string_equal(get(fixture), "one");
    write_token(fixture->path, "two");
    assert_string_equal(get(fixture), "one");
    assert_int_equal(utimensat(AT_FDCWD, fixture->path, later, 0), 0);
    assert_string_equal(get(fixture), "two");
}

static void the_file_is_read_again_every_minute_and_after_401(void **state)
{
    struct fixture *fixture = *state;

    write_token(fixture->path, "one");
    assert_string_equal(get(fixture), "one");
    write_token(fixture->path, "two");
    fixture->now_ms = KUBE_TOKEN_PERIOD_MS - 1;
    assert_string_equal(get(fixture), "one");
    fixture->now_ms = KUBE_TOKEN_PERIOD_MS;
    assert_string_equal(get(fixture), "two");
    write_token(fixture->path, "three");
    assert_string_equal(get(fixture), "two");
    fixture->token.is_stale = true;
    assert_string_equal(get(fixture), "three");
}

static void a_missing_file_is_an_error_only_before_the_first_read(void **state)
{
    struct fixture *fixture = *state;
    const char *text = NULL;
    struct error err = {0};

    assert_int_equal(kube_token_get(&fixture->token, 0, &text, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    write_token(fixture->path, "one");
    assert_string_equal(get(fixture), "one");
    assert_int_equal(unlink(fixture->path), 0);
    assert_string_equal(get(fixture), "one");
    write_token(fixture->path, "");
    fixture->token.is_stale = true;
    assert_string_equal(get(fixture), "one");
    write_token(fixture->path, "two");
    assert_string_equal(get(fixture), "two");
}

int main(void)
{
#define with_file(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_token_or_none_needs_no_file),
        with_file(a_replaced_file_is_read),
        with_file(an_overwritten_file_is_read_because_its_mtime_changed),
        with_file(the_file_is_read_again_every_minute_and_after_401),
        with_file(a_missing_file_is_an_error_only_before_the_first_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
