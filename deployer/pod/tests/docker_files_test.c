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

/* What was passed over, joined. */
static void note(void *data, const struct docker_config_trouble *trouble)
{
    char **said = data;
    char *longer = xasprintf("%s%s: %s\n", *said, trouble->entry ? trouble->entry : "file",
                             trouble->entry ? "" : trouble->why);

    assert_null(strstr(trouble->why, "canary"));
    free(*said);
    *said = longer;
}

/* As a kubelet does: beside it, then in its place. */
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

static void files_that_cannot_be_used_are_told_and_passed_over(void **state)
{
    cleanup_free char *good = file_of("{\"auths\": {\"r.io\": {\"username\": \"u\"}}}");
    cleanup_free char *empty = file_of("");
    cleanup_free char *broken = file_of("{\"auths\": canary");
    cleanup_free char *absent = xstrdup("/nonexistent/config.json");
    char *paths[] = {empty, broken, absent, good, NULL};
    cleanup_docker_files struct docker_files *files = docker_files_new(paths);
    cleanup_free char *said = xstrdup("");

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* told once */
        const json_t *now = docker_files_now(files, note, &said);

        assert_int_equal(json_array_size(now), 1);
        assert_string_equal(doc_text(json_array_get(now, 0), "origin"), good);
        assert_string_equal(said, "file: it is no Docker configuration\n"
                                  "file: it is no Docker configuration\n"
                                  "file: open '/nonexistent/config.json': "
                                  "No such file or directory\n");
    }
    for (char **path = paths; *path; path++)
        (void)unlink(*path);
}

static const struct {
    const char *text; /* NULL: the file is removed */
    const char *user; /* of r.io afterwards; NULL: no credentials */
    const char *said;
} changes[] = {
    {"{\"auths\": {\"r.io\": {\"username\": \"one\"}}}", "one", ""},
    {"{\"auths\": {\"r.io\": {\"username\": \"two\"}}}", "two", ""},
    {NULL, "two", NULL},     /* names the path */
    {"canary [", "two", ""}, /* it has been told that it can't be used */
    {"{\"auths\": {\"r.io\": {\"username\": \"six\"}, \"x.io\": 5}}", "six", "x.io: \n"},
    {"canary [", "six", "file: it is no Docker configuration; what it held before is used\n"},
    {"{\"auths\": {}}", NULL, ""},
    {"", NULL, "file: it is no Docker configuration\n"},
};

static void a_file_that_changes_is_read_again_and_the_last_good_one_stays(void **state)
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
            cleanup_free char *said = xstrdup("");
            const json_t *now = docker_files_now(files, note, &said);
            const json_t *entry =
                doc_member(doc_get(json_array_get(now, 0), "config.auths"), "r.io");
            const char *wanted = times == 0 ? changes[i].said : "";

            print_message("%zu: %s\n", i, said);
            if (changes[i].user)
                assert_string_equal(doc_text(entry, "username"), changes[i].user);
            else
                assert_int_equal(json_array_size(now), 0);
            if (changes[i].text || times > 0)
                assert_string_equal(said, wanted);
            else
                assert_non_null(strstr(said, "No such file or directory; what it held before"));
        }
    }
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_cannot_be_used_are_told_and_passed_over),
        cmocka_unit_test(a_file_that_changes_is_read_again_and_the_last_good_one_stays),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
