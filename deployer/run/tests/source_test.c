/* SPDX-License-Identifier: Apache-2.0 */
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

#include "common/archive/beneath.h"
#include "common/base/memory.h"
#include "deployer/run/source.h"

static void distinguishes_local_images_from_references(void **state)
{
    static const struct {
        const char *text;
        bool is_local;
    } cases[] = {{"oci:x", true},      {"oci-archive:x", true}, {"docker-archive:x", true},
                 {"rootfs:x", true},   {"/abs", true},          {"./x", true},
                 {"../x", true},       {".x", false},           {"alpine", false},
                 {"oci/image", false}, {"host:5000/x", false},  {"ociregistry:1", false}};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++)
        assert_int_equal(source_is_local(cases[i].text), cases[i].is_local);
}

static void parses_each_form(void **state)
{
    char directory[] = "/tmp/source-test-XXXXXX";
    cleanup_free char *layout = NULL;
    cleanup_free char *odd = NULL;
    struct error err = {0};
    struct {
        char *text;
        enum source_kind kind;
        const char *path, *tag;
    } cases[6] = {0};

    (void)state;
    assert_non_null(mkdtemp(directory));
    layout = xasprintf("%s/layout", directory);
    odd = xasprintf("%s/with:colon", directory);
    assert_int_equal(mkdir(layout, 0755) | mkdir(odd, 0755), 0);
    cases[0].text = xasprintf("oci:%s:tag", layout);
    cases[0].kind = SOURCE_OCI, cases[0].path = layout, cases[0].tag = "tag";
    cases[1].text = xasprintf("oci:%s", layout);
    cases[1].kind = SOURCE_OCI, cases[1].path = layout;
    cases[2].text = xasprintf("oci:%s", odd);
    cases[2].kind = SOURCE_OCI, cases[2].path = odd;
    cases[3].text = xasprintf("docker-archive:%s:repo:tag", layout);
    cases[3].kind = SOURCE_DOCKER_ARCHIVE, cases[3].path = layout, cases[3].tag = "repo:tag";
    cases[4].text = xstrdup(layout);
    cases[4].kind = SOURCE_ROOTFS, cases[4].path = layout;
    cases[5].text = xstrdup("example.com/a/b:1");
    cases[5].kind = SOURCE_REGISTRY, cases[5].path = "example.com/a/b:1";
    for (size_t i = 0; i < array_length(cases); i++) {
        struct source source = {0};

        assert_int_equal(source_parse(cases[i].text, &source, &err), 0);
        assert_int_equal(source.kind, cases[i].kind);
        assert_string_equal(source.path, cases[i].path);
        if (cases[i].tag)
            assert_string_equal(source.tag, cases[i].tag);
        else
            assert_null(source.tag);
        source_done(&source);
        free(cases[i].text);
    }
    assert_int_equal(rmdir(layout) | rmdir(odd) | rmdir(directory), 0);
}

static void a_missing_file_is_named(void **state)
{
    static const char *const missing[] = {"oci:/no/such/place", "rootfs:/no/such", "/no/such/file",
                                          "oci-archive:/no/such:tag"};

    (void)state;
    for (size_t i = 0; i < array_length(missing); i++) {
        struct source source = {0};
        struct error err = {0};

        assert_int_equal(source_parse(missing[i], &source, &err), -1);
        assert_int_equal(err.kind, ERROR_NOT_FOUND);
        assert_non_null(strstr(err.text, "/no/such"));
        assert_null(source.path);
    }
}

static void a_relative_path_is_searched_in_the_current_directory(void **state)
{
    char directory[] = "/tmp/source-test-XXXXXX";
    cleanup_free char *before = getcwd(NULL, 0);
    cleanup_free char *identity = NULL;
    cleanup_free char *expected = NULL;
    struct source source = {0};
    struct error err = {0};

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory) | mkdir("layout", 0755), 0);
    assert_int_equal(source_parse("./layout", &source, &err), 0);
    assert_int_equal(source.kind, SOURCE_ROOTFS);
    source_done(&source);
    assert_int_equal(source_parse("oci-archive:missing.tar", &source, &err), -1);
    assert_non_null(strstr(err.text, "open \"missing.tar\" in the current directory \""));
    assert_non_null(strstr(err.text, directory));
    identity = source_identity("oci:layout:tag");
    expected = realpath("layout", NULL);
    assert_string_equal(identity, expected);
    assert_int_equal(rmdir("layout") | chdir(before) | rmdir(directory), 0);
}

static void a_reference_that_is_also_a_file_is_refused(void **state)
{
    char directory[] = "/tmp/source-test-XXXXXX";
    cleanup_free char *before = getcwd(NULL, 0);
    struct error err = {0};
    cleanup_close int tmp_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_close int fd = -1;

    (void)state;
    assert_non_null(mkdtemp(directory));
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(beneath_write_file(fd, "layout/oci-layout", "{}", 2, 0644, &err), 0);
    assert_int_equal(beneath_write_file(fd, "plain/file", "", 0, 0644, &err), 0);
    assert_int_equal(beneath_write_file(fd, "notes", "text", 4, 0644, &err), 0);
    assert_int_equal(source_check_reference("alpine", &err), 0);
    assert_int_equal(source_check_reference("plain", &err), 0); /* any directory */
    assert_int_equal(source_check_reference("notes", &err), 0); /* not an archive */
    assert_int_equal(source_check_reference("./layout", &err), 0);
    assert_int_equal(source_check_reference("layout", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text,
                        "image \"layout\" is the name of a file in the current directory; write "
                        "\"./layout\" to use it, or \"docker.io/library/layout\" for the image of "
                        "that name in a registry");
    assert_int_equal(chdir(before), 0);
    assert_int_equal(beneath_remove_tree(tmp_fd, directory + strlen("/tmp/"), &err), 0);
}

static void versions_of_an_image_have_the_same_identity(void **state)
{
    static const struct {
        const char *text, *identity;
    } cases[] = {
        {"alpine", "alpine"},
        {"alpine:3", "alpine"},
        {"host:5000/a/b", "host:5000/a/b"},
        {"host:5000/a/b:1", "host:5000/a/b"},
        {"host:5000/a/b@sha256:12", "host:5000/a/b"},
        {"host/a:1@sha256:12", "host/a"},
        {"oci:/no/such", "oci:/no/such"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *identity = source_identity(cases[i].text);

        assert_string_equal(identity, cases[i].identity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinguishes_local_images_from_references),
        cmocka_unit_test(parses_each_form),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_relative_path_is_searched_in_the_current_directory),
        cmocka_unit_test(a_reference_that_is_also_a_file_is_refused),
        cmocka_unit_test(versions_of_an_image_have_the_same_identity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
