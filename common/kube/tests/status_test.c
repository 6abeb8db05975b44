/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "common/kube/status.h"

static const struct {
    int status;
    const char *body;
    uint32_t header_ms;
    enum error_kind kind;
    uint32_t wait_ms;
    const char *text;
} cases[] = {
    {404, "{\"message\":\"pods \\\"x\\\" not found\",\"reason\":\"NotFound\"}", 0, ERROR_NOT_FOUND,
     0, "do: pods \"x\" not found"},
    {400, "{\"message\":\"bad\"}", 0, ERROR_INVALID, 0, "do: bad"},
    {401, "{\"message\":\"Unauthorized\"}", 0, ERROR_DENIED, 0, "do: Unauthorized"},
    {403, "{\"message\":\"no\"}", 0, ERROR_DENIED, 0, "do: no"},
    {405, "", 0, ERROR_INVALID, 0, "do: HTTP status 405 "},
    {408, "", 0, ERROR_TEMPORARY, 0, "do: HTTP status 408 "},
    {409, "{\"message\":\"is there\",\"reason\":\"AlreadyExists\"}", 0, ERROR_EXISTS, 0,
     "do: is there"},
    {409, "{\"message\":\"changed\",\"reason\":\"Conflict\"}", 0, ERROR_CONFLICT, 0, "do: changed"},
    {409, "{}", 0, ERROR_CONFLICT, 0, "do: HTTP status 409 "},
    {410, "{\"message\":\"too old\",\"reason\":\"Expired\"}", 0, ERROR_GONE, 0, "do: too old"},
    {413, "", 0, ERROR_TOO_LARGE, 0, "do: HTTP status 413 Request Entity Too Large"},
    {422, "{\"message\":\"field\"}", 0, ERROR_INVALID, 0, "do: field"},
    {429, "Too many requests, please try again later.\n", 1000, ERROR_TEMPORARY, 1000,
     "do: Too many requests, please try again later."},
    {429, "{\"message\":\"wait\",\"details\":{\"retryAfterSeconds\":7}}", 1000, ERROR_TEMPORARY,
     7000, "do: wait"},
    {429, "{\"message\":\"wait\",\"details\":{\"retryAfterSeconds\":1}}", 3000, ERROR_TEMPORARY,
     3000, "do: wait"},
    {429, "{\"message\":\"wait\",\"details\":{\"retryAfterSeconds\":86400}}", 0, ERROR_TEMPORARY,
     60000, "do: wait"},
    {429, "{\"message\":\"wait\",\"details\":{\"retryAfterSeconds\":-1}}", 0, ERROR_TEMPORARY, 0,
     "do: wait"},
    {500, "{\"message\":\"etcdserver: request timed out\"}", 0, ERROR_TEMPORARY, 0,
     "do: etcdserver: request timed out"},
    {500, "{\"message\":\"etcdserver: request is too large\"}", 0, ERROR_TOO_LARGE, 0,
     "do: etcdserver: request is too large"},
    {500, "{\"message\":\"rpc error: trying to send message larger than max (4 vs. 2)\"}", 0,
     ERROR_TOO_LARGE, 0, "do: rpc error: trying to send message larger than max (4 vs. 2)"},
    {503, "<html>oops</html>", 0, ERROR_TEMPORARY, 0, "do: HTTP status 503 Service Unavailable"},
    {503, "{\"message\":\"cut o", 0, ERROR_TEMPORARY, 0, "do: HTTP status 503 Service Unavailable"},
    {502, "first line\r\nsecond", 0, ERROR_TEMPORARY, 0, "do: first line"},
    {504, "{\"reason\":\"Timeout\"}", 0, ERROR_TEMPORARY, 0, "do: HTTP status 504 Timeout"},
    {302, "", 0, ERROR_INVALID, 0, "do: HTTP status 302 "},
    {400,
     "{\"message\":\"cannot decode, error found in #10 byte of ...|c3VwZXI=|..., bigger context "
     "...|s3cret|...\"}",
     0, ERROR_INVALID, 0, "do: cannot decode"},
};

static void responses_become_errors_with_kind_text_and_delay(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};

        assert_int_equal(kube_status_error(cases[i].status, cases[i].body, strlen(cases[i].body),
                                           cases[i].header_ms, "do", &err),
                         -1);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.http_status, cases[i].status);
        assert_int_equal(err.retry_after_ms, cases[i].wait_ms);
    }
}

static void the_status_of_an_event_contains_its_code(void **state)
{
    static const struct {
        const char *text;
        enum error_kind kind;
        int status;
    } events[] = {
        {"{\"code\":410,\"message\":\"old\"}", ERROR_GONE, 410},
        {"{\"code\":403,\"message\":\"no\"}", ERROR_DENIED, 403},
        {"{\"code\":200,\"message\":\"odd\"}", ERROR_TEMPORARY, 500},
        {"{}", ERROR_TEMPORARY, 500},
        {"{\"code\":\"410\"}", ERROR_TEMPORARY, 500},
    };

    (void)state;
    for (size_t i = 0; i < array_length(events); i++) {
        cleanup_json json_t *status = NULL;
        struct error err = {0};

        assert_int_equal(
            doc_parse_json(events[i].text, strlen(events[i].text), 1024, &status, &err), 0);
        assert_int_equal(kube_status_error_object(status, "watch", &err), -1);
        assert_int_equal(err.kind, events[i].kind);
        assert_int_equal(err.http_status, events[i].status);
    }
}

static void recognizes_a_terminating_namespace(void **state)
{
    static const struct {
        int status;
        const char *body;
        bool is_going;
    } answers[] = {
        {403,
         "{\"message\":\"secrets \\\"a\\\" is forbidden: unable to create new content in "
         "namespace b because it is being terminated\",\"details\":{\"causes\":[{\"reason\":"
         "\"NamespaceTerminating\"}]}}",
         true},
        {403, "{\"message\":\"secrets is forbidden: User \\\"a\\\" cannot create\"}", false},
        {500, "because it is being terminated", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(answers); i++) {
        struct error err = {0};

        assert_int_equal(kube_status_error(answers[i].status, answers[i].body,
                                           strlen(answers[i].body), 0, "create", &err),
                         -1);
        assert_int_equal(kube_is_namespace_terminating(&err), answers[i].is_going);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_become_errors_with_kind_text_and_delay),
        cmocka_unit_test(the_status_of_an_event_contains_its_code),
        cmocka_unit_test(recognizes_a_terminating_namespace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
