/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of libcurl at initialization and start, and unreadable certificates. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/descriptors.h"
#include "common/base/tests/fault.h"
#include "common/net/tests/http_bench.h"

enum { TOO_MUCH = 8 * 1024 * 1024 + 1 };

static void initialization_errors_of_libcurl_are_reported(void **state)
{
    static const struct {
        const char *function;
        unsigned nth;
    } cases[] = {
        {"curl_global_init", 1},  {"curl_multi_setopt", 1}, {"curl_multi_setopt", 2},
        {"curl_multi_setopt", 3}, {"curl_multi_setopt", 4}, {"curl_multi_setopt", 5},
    };
    struct bench *bench = *state;
    unsigned descriptors = open_descriptors();

    for (size_t i = 0; i < array_length(cases); i++) {
        struct http_client *client = NULL;
        struct error err = {0};

        fault_arm(cases[i].function, cases[i].nth, 0);
        assert_int_equal(http_client_new(bench->loop, "test/1", &client, &err), -1);
        assert_true(fault_disarm());
        assert_int_equal(err.kind, ERROR_INTERNAL);
        assert_string_equal(err.text, "libcurl could not be initialized");
        assert_null(client);
        assert_int_equal(open_descriptors(), descriptors);
    }
}

static void a_call_that_libcurl_rejects_ends_with_an_error(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/a");
    cleanup_free char *expected = xasprintf("GET \"%s\": ", url);
    struct got got = {0};
    const struct http_request request = bench_request(bench, &got, url);

    bench_start(&request, &got);
    fault_arm("curl_multi_add_handle", 1, 0);
    bench_run_until_done(bench, &got);
    assert_true(fault_disarm());
    bench_run_idle(bench);
    assert_int_equal(got.done_count, 1);
    assert_int_equal(got.err.kind, ERROR_INTERNAL);
    assert_int_equal(strncmp(got.err.text, expected, strlen(expected)), 0);
    assert_int_equal(bench->server.request_count, 0);
    got_done(&got);
}

/* ---- certificates ---- */

static void must_be_refused(struct bench *bench, const struct http_tls *tls, const char *expected)
{
    struct got got = {0};
    struct http_request request = bench_request(bench, &got, "https://127.0.0.1:1/");
    unsigned descriptors = open_descriptors();
    struct error err = {0};

    request.tls = tls;
    assert_int_equal(http_start(bench->client, &request, &got.call, &err), -1);
    /* Not NOT_FOUND or DENIED: those would be attributed to the server. */
    assert_int_equal(err.kind, ERROR_INVALID);
    if (!strstr(err.text, expected))
        fail_msg("'%s' does not contain '%s'", err.text, expected);
    assert_int_equal(open_descriptors(), descriptors);
    got_done(&got);
}

static char *make_folder(void)
{
    char *folder = xstrdup("/tmp/longshore-trust-test.XXXXXX");

    assert_non_null(mkdtemp(folder));
    return folder;
}

static char *make_file(const char *folder, const char *name, off_t size)
{
    char *path = xasprintf("%s/%s", folder, name);
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(ftruncate(fd, size), 0);
    return path;
}

static void unreadable_certificate_files_are_named(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *folder = make_folder();
    cleanup_free char *huge = make_file(folder, "huge", TOO_MUCH);
    cleanup_free char *small = make_file(folder, "small", 1);
    const struct http_tls missing_file = {.ca_file = "/none"};
    const struct http_tls huge_file = {.ca_file = huge};
    const struct http_tls small_file = {.ca_file = small};
    const struct http_tls folder_file = {.ca_file = folder};
    cleanup_free char *text = xcalloc(1, TOO_MUCH + 1);
    const struct http_tls huge_text = {.ca_pem = text, .is_system_trusted = true};

    must_be_refused(bench, &missing_file, "read certificates from \"/none\": No such file");
    must_be_refused(bench, &folder_file, "\": not a regular file");
    memset(text, 'x', TOO_MUCH);
    must_be_refused(bench, &huge_text, "more than 8388608 bytes");
    must_be_refused(bench, &huge_file, "/huge\": more than 8388608 bytes");
    fault_arm("read", 1, EIO);
    must_be_refused(bench, &small_file, "/small\": Input/output error");
    assert_true(fault_disarm());

    (void)setenv("SSL_CERT_FILE", "/none", 1);
    must_be_refused(bench, NULL, "SSL_CERT_FILE: read certificates from \"/none\": ");
    (void)unsetenv("SSL_CERT_FILE");
    /* Unreadable files of a directory are skipped, but exceeding the size limit is an error. */
    (void)setenv("SSL_CERT_DIR", folder, 1);
    must_be_refused(bench, NULL, "\"huge\": more than 8388608 bytes");
    (void)unsetenv("SSL_CERT_DIR");
    (void)unlink(huge);
    (void)unlink(small);
    (void)rmdir(folder);
}

/* A redirect may lead to TLS. */
static void without_tls_no_certificates_are_read(void **state)
{
    struct bench *bench = *state;
    cleanup_free char *url = bench_url(&bench->server, "/");
    struct got got = {0}, redirected = {0};
    struct http_request request = bench_request(bench, &got, url);
    struct error err = {0};

    bench->answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    (void)setenv("SSL_CERT_FILE", "/none", 1);
    bench_fetch(&request, &got);
    assert_int_equal(got.status, 200);
    request = bench_request(bench, &redirected, url);
    request.redirects_max = 1;
    assert_int_equal(http_start(bench->client, &request, &redirected.call, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    (void)unsetenv("SSL_CERT_FILE");
    got_done(&got);
    got_done(&redirected);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, bench_setup, bench_teardown)
    const struct CMUnitTest tests[] = {
        test(initialization_errors_of_libcurl_are_reported),
        test(a_call_that_libcurl_rejects_ends_with_an_error),
        test(unreadable_certificate_files_are_named),
        test(without_tls_no_certificates_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
