/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/reference.h"

#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define A32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A128 A32 A32 A32 A32

static const struct {
    const char *text, *host, *repository, *tag, *digest, *normal;
} good[] = {
    {"alpine", "docker.io", "library/alpine", "latest", NULL, "docker.io/library/alpine:latest"},
    {"alpine:3.19", "docker.io", "library/alpine", "3.19", NULL, "docker.io/library/alpine:3.19"},
    {"org/app", "docker.io", "org/app", "latest", NULL, "docker.io/org/app:latest"},
    {"docker.io/app", "docker.io", "library/app", "latest", NULL, "docker.io/library/app:latest"},
    {"index.docker.io/app", "docker.io", "library/app", "latest", NULL,
     "docker.io/library/app:latest"},
    {"index.docker.io/org/app:1", "docker.io", "org/app", "1", NULL, "docker.io/org/app:1"},
    {"ghcr.io/a/b", "ghcr.io", "a/b", "latest", NULL, "ghcr.io/a/b:latest"},
    {"localhost/a", "localhost", "a", "latest", NULL, "localhost/a:latest"},
    {"localhost:5000/a:v1", "localhost:5000", "a", "v1", NULL, "localhost:5000/a:v1"},
    {"host:5000/a/b/c", "host:5000", "a/b/c", "latest", NULL, "host:5000/a/b/c:latest"},
    {"Host/a", "Host", "a", "latest", NULL, "Host/a:latest"},
    {"127.0.0.1:5000/a", "127.0.0.1:5000", "a", "latest", NULL, "127.0.0.1:5000/a:latest"},
    {"[::1]:5000/a:v1", "[::1]:5000", "a", "v1", NULL, "[::1]:5000/a:v1"},
    {"[2001:db8::1]/a", "[2001:db8::1]", "a", "latest", NULL, "[2001:db8::1]/a:latest"},
    {"a.b/c@sha256:" HEX, "a.b", "c", NULL, "sha256:" HEX, "a.b/c@sha256:" HEX},
    {"a.b/c:v1@sha256:" HEX, "a.b", "c", NULL, "sha256:" HEX, "a.b/c@sha256:" HEX},
    {"c@sha256:" HEX, "docker.io", "library/c", NULL, "sha256:" HEX,
     "docker.io/library/c@sha256:" HEX},
    {"a.b/c_d/e__f/g.h/i--j:_T.a-g", "a.b", "c_d/e__f/g.h/i--j", "_T.a-g", NULL,
     "a.b/c_d/e__f/g.h/i--j:_T.a-g"},
    {"a:" A128, "docker.io", "library/a", A128, NULL, "docker.io/library/a:" A128},
    {"localhost", "docker.io", "library/localhost", "latest", NULL,
     "docker.io/library/localhost:latest"},
};

static void is_equal_or_null(const char *actual, const char *expected)
{
    if (expected)
        assert_string_equal(actual, expected);
    else
        assert_null(actual);
}

static void normalises_as_docker_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(good); i++) {
        cleanup_reference struct reference *reference = NULL;
        cleanup_reference struct reference *again = NULL;
        struct error err = {0};

        if (reference_parse(good[i].text, &reference, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(reference_host(reference), good[i].host);
        assert_string_equal(reference_repository(reference), good[i].repository);
        is_equal_or_null(reference_tag(reference), good[i].tag);
        assert_string_equal(reference_object(reference),
                            good[i].digest ? good[i].digest : good[i].tag);
        assert_int_equal(reference_parse(good[i].normal, &again, &err), 0);
        assert_string_equal(reference_host(again), good[i].host);
        assert_string_equal(reference_repository(again), good[i].repository);
        assert_string_equal(reference_object(again), reference_object(reference));
    }
}

static const struct {
    const char *text, *fault;
} bad[] = {
    {"", "is empty"},
    {"https://ghcr.io/a/b", "must not begin with a scheme"},
    {HEX, "is an image id"},
    {"A", "must be lower case"},
    {"a/B", "must be lower case"},
    {"ghcr.io/a/B:v1", "must be lower case"},
    {"a b", "invalid repository"},
    {"-a", "invalid repository"},
    {"a-", "invalid repository"},
    {"a___b", "invalid repository"},
    {"a..b", "invalid repository"},
    {"a_.b", "invalid repository"},
    {"a//b", "invalid repository"},
    {"a/", "invalid repository"},
    {"/a", "invalid repository"},
    {"a.b/", "invalid repository"},
    {":v1", "invalid repository"},
    {"@sha256:" HEX, "invalid repository"},
    {"a.b/../c", "invalid repository"},
    {"a.b/%2e%2e/c", "invalid repository"},
    {"a.b/" A128 A128, "is longer than 255 characters"},
    {"a-.b/c", "invalid host"},
    {"a..b/c", "invalid host"},
    {".b/c", "invalid host"},
    {"a.b:/c", "invalid host"},
    {"a.b:x/c", "invalid host"},
    {"a.b:123456/c", "invalid host"},
    {"user:pass/c", "invalid host"},
    {"[::1/c", "invalid host"},
    {"[::g]/c", "invalid host"},
    {"[]:5000/c", "invalid host"},
    {"a:", "invalid tag"},
    {"a:-v", "invalid tag"},
    {"a:.v", "invalid tag"},
    {"a:v/", "invalid host"},
    {"a:v+1", "invalid tag"},
    {"a:" A128 "a", "invalid tag"},
    {"a@", "digest"},
    {"a@sha256:abc", "digest"},
    {"a@md5:" A32, "digest"},
    {"a@sha256:" HEX "@sha256:" HEX, "more than one '@'"},
    {"a:?@sha256:" HEX, "invalid tag"},
};

static void names_the_fault_and_keeps_the_output(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(bad); i++) {
        struct reference *reference = NULL;
        struct error err = {0};

        if (reference_parse(bad[i].text, &reference, &err) == 0)
            fail_msg("'%s' was read", bad[i].text);
        assert_null(reference);
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, bad[i].fault))
            fail_msg("'%s': %s", bad[i].text, err.text);
    }
}

static void an_error_shows_no_credentials(void **state)
{
    static const char *const texts[] = {
        "user:hunter2@ghcr.io/a/b",      "https://user:hunter2@ghcr.io/a/b",
        "user:hunter2@ghcr.io/a/b:v1@x", ("user:hunter2@ghcr.io/a/b@sha256:" HEX),
        "user:p@hunter2@ghcr.io/a/b",
    };

    (void)state;
    for (size_t i = 0; i < array_length(texts); i++) {
        struct reference *reference = NULL;
        struct error err = {0};

        assert_int_equal(reference_parse(texts[i], &reference, &err), -1);
        assert_null(strstr(err.text, "hunter2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalises_as_docker_does),
        cmocka_unit_test(names_the_fault_and_keeps_the_output),
        cmocka_unit_test(an_error_shows_no_credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
