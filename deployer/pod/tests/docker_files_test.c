/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "deployer/pod/docker_files.h"
#include "deployer/tests/sample.h"

/* The reported problems, joined. */
static void note(void *data, const struct docker_config_problem *problem)
{
    char **reported = data;
    char *longer = xasprintf("%s%s: %s\n", *reported, problem->entry ? problem->entry : "file",
                             problem->entry ? "" : problem->why);

    assert_null(strstr(problem->why, "canary"));
    free(*reported);
    *reported = longer;
}

/* Replaces the file by rename, as a kubelet does. */
static void write_file(const char *path, const char *text)
{
    cleanup_free char *beside = xasprintf("%s.new", path);
    FILE *file = fopen(beside, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(beside, path), 0);
}

/* The name of a new file with this text; belongs to the caller. */
static char *file_of(const char *text)
{
    char *path = xstrdup("/tmp/docker_files_test.XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)close(fd);
    write_file(path, text);
    return path;
}

static void unusable_files_are_reported_and_skipped(void **state)
{
    cleanup_free char *good = file_of("{\"auths\": {\"r.io\": {\"username\": \"u\"}}}");
    cleanup_free char *empty = file_of("");
    cleanup_free char *broken = file_of("{\"auths\": canary");
    cleanup_free char *absent = xstrdup("/nonexistent/config.json");
    char *paths[] = {empty, broken, absent, good, NULL};
    cleanup_docker_files struct docker_files *files = docker_files_new(paths);
    cleanup_free char *reported = xstrdup("");

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* reported only once */
        const json_t *now = docker_files_now(files, note, &reported);

        assert_int_equal(json_array_size(now), 1);
        assert_string_equal(doc_text(json_array_get(now, 0), "origin"), good);
        assert_string_equal(reported, "file: not a Docker configuration\n"
                                      "file: not a Docker configuration\n"
                                      "file: open \"/nonexistent/config.json\": "
                                      "No such file or directory\n");
    }
    for (char **path = paths; *path; path++)
        (void)unlink(*path);
}

static const struct {
    const char *text; /* NULL: the file is removed */
    const char *user; /* of r.io afterwards; NULL: no credentials */
    const char *reported;
} changes[] = {
    {"{\"auths\": {\"r.io\": {\"username\": \"one\"}}}", "one", ""},
    {"{\"auths\": {\"r.io\": {\"username\": \"two\"}}}", "two", ""},
    {NULL, "two", NULL},     /* names the path */
    {"canary [", "two", ""}, /* already reported as unusable */
    {"{\"auths\": {\"r.io\": {\"username\": \"six\"}, \"x.io\": 5}}", "six", "x.io: \n"},
    {"canary [", "six", "file: not a Docker configuration; the previous content is used\n"},
    {"{\"auths\": {}}", NULL, ""},
    {"", NULL, "file: not a Docker configuration\n"},
};

static void a_changed_file_is_read_again_and_the_last_valid_content_is_kept(void **state)
{
    cleanup_free char *path = file_of("");
    char *paths[] = {path, NULL};
    cleanup_docker_files struct docker_files *files = docker_files_new(paths);

    (void)state;
    for (size_t i = 0; i < array_length(changes); i++) {
        if (changes[i].text)
            write_file(path, changes[i].text);
        else
            assert_int_equal(unlink(path), 0);
        for (size_t times = 0; times < 2; times++) {
            cleanup_free char *reported = xstrdup("");
            const json_t *now = docker_files_now(files, note, &reported);
            const json_t *entry =
                doc_member(doc_get(json_array_get(now, 0), "config.auths"), "r.io");
            const char *wanted = times == 0 ? changes[i].reported : "";

            print_message("%zu: %s\n", i, reported);
            if (changes[i].user)
                assert_string_equal(doc_text(entry, "username"), changes[i].user);
            else
                assert_int_equal(json_array_size(now), 0);
            if (changes[i].text || times > 0)
                assert_string_equal(reported, wanted);
            else
                assert_non_null(
                    strstr(reported, "No such file or directory; the previous content"));
        }
    }
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unusable_files_are_reported_and_skipped),
        cmocka_unit_test(a_changed_file_is_read_again_and_the_last_valid_content_is_kept),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
