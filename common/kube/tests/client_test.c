/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/client_internal.h"
#include "common/kube/tests/kube_bench.h"

#define HEAD(status_) "HTTP/1.1 " status_ "\r\nContent-Length: "

struct got {
    int count;
    json_t *object;
    struct error err;
    struct kube_call **cancelled;
};

static void note(void *data, json_t *object, const struct error *err)
{
    struct got *got = data;

    got->count++;
    got->object = json_incref(object);
    got->err = *err;
    if (got->cancelled)
        kube_cancel(*got->cancelled);
}

static const struct kube_request get_pod = {
    .verb = KUBE_GET, .resource = {"", "v1", "pods"}, .namespace_name = "a", .name = "b"};

static struct kube_call *start(struct kube_bench *bench, const struct kube_request *request,
                               struct got *got)
{
    struct kube_request copy = *request;
    struct kube_call *call = NULL;
    struct error err = {0};

    copy.on_done = note;
    copy.data = got;
    if (kube_start(bench->kube, &copy, &call, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(got->count, 0);
    return call;
}

/* The same response to every attempt. */
static int perform(struct kube_bench *bench, const struct kube_request *request, const char *answer,
                   json_t **ret_object, struct error *err)
{
    const char *answers[] = {answer};
    int result = 0;

    kube_bench_set_answers(bench, answers, 1);
    result = kube_perform(bench->kube, request, ret_object, err);
    bench->answer_count = 0;
    return result;
}

static void a_response_is_an_object(void **state)
{
    static const char *const answers[] = {HEAD("200 OK") "7\r\n\r\n{\"a\":1}"};
    struct kube_bench *bench = *state;
    cleanup_json json_t *object = NULL;
    struct kube_counts counts = {0};
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 1);
    assert_int_equal(kube_perform(bench->kube, &get_pod, &object, &err), 0);
    assert_int_equal(doc_integer_or(object, "a", 0), 1);
    assert_int_equal(kube_perform(bench->kube, &get_pod, NULL, &err), 0);
    assert_int_equal(kube_request_counts(bench->kube)->numbers[0][1], 2);
    kube_count_in(bench->kube, &counts);
    assert_int_equal(kube_perform(bench->kube, &get_pod, NULL, &err), 0);
    assert_int_equal(counts.numbers[0][1], 1);
    assert_ptr_equal(kube_request_counts(bench->kube), &counts);
    kube_count_in(bench->kube, NULL); /* the table ends before the client */
    assert_string_equal(kube_count_method(0), "GET");
    assert_string_equal(kube_count_code(1), "200");
    assert_true(loopback_has(&bench->server, 0, "GET /api/v1/namespaces/a/pods/b HTTP/1.1\r\n"));
    assert_true(loopback_has(&bench->server, 0, "\r\nAccept: application/json\r\n"));
}

static void a_response_that_is_not_an_object_is_an_error(void **state)
{
    static const struct {
        const char *answer;
        enum error_kind kind;
    } cases[] = {
        {HEAD("200 OK") "3\r\n\r\n{a}", ERROR_INVALID},
        {HEAD("200 OK") "20\r\n\r\n{\"a\":\"123456789012\"}", ERROR_TOO_LARGE},
        {HEAD("403 No") "16\r\n\r\n{\"message\":\"no\"}", ERROR_DENIED},
    };
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < 2 * array_length(cases); i++) {
        struct kube_request request = get_pod;
        struct error err = {0};
        json_t *object = NULL;

        request.body_max = 16;
        request.is_reducible = i >= array_length(cases);
        assert_int_equal(
            perform(bench, &request, cases[i % array_length(cases)].answer, &object, &err), -1);
        assert_int_equal(err.kind, cases[i % array_length(cases)].kind);
        assert_non_null(strstr(err.text, "get pods \"a/b\": "));
        assert_null(object);
    }
}

static void an_empty_response_is_an_empty_object(void **state)
{
    cleanup_json json_t *object = NULL;
    struct error err = {0};

    assert_int_equal(perform(*state, &get_pod, HEAD("200 OK") "0\r\n\r\n", &object, &err), 0);
    assert_int_equal(json_object_size(object), 0);
    assert_true(json_is_object(object));
}

static void raw_text_becomes_valid_utf8(void **state)
{
    static const char answer[] = HEAD("200 OK") "8\r\n\r\na\xff\xc3\xa4\xc3\n{\x01";
    struct kube_request request = get_pod;
    cleanup_json json_t *object = NULL;
    struct error err = {0};

    request.is_raw = true;
    assert_int_equal(perform(*state, &request, answer, &object, &err), 0);
    assert_string_equal(json_string_value(object), "a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\n{\x01");
}

static void is_tail_keeps_the_end_of_a_long_text(void **state)
{
    static const struct {
        const char *answer, *kept;
    } cases[] = {
        {HEAD("200 OK") "8\r\n\r\nabcdefgh", "efgh"},
        {HEAD("200 OK") "4\r\n\r\nabcd", "abcd"},
        {HEAD("200 OK") "0\r\n\r\n", ""},
        {HEAD("200 OK") "6\r\n\r\na\xc3\xa4"
                        "bcd",
         "\xef\xbf\xbd"
         "bcd"},
    };

    for (size_t i = 0; i < array_length(cases); i++) {
        struct kube_request request = get_pod;
        cleanup_json json_t *object = NULL;
        struct error err = {0};

        request.is_raw = request.is_tail = true;
        request.body_max = 4;
        assert_int_equal(perform(*state, &request, cases[i].answer, &object, &err), 0);
        assert_string_equal(json_string_value(object), cases[i].kept);
    }
}

static void an_unread_response_is_requested_as_metadata_and_not_parsed(void **state)
{
    struct kube_bench *bench = *state;
    struct kube_request request = get_pod;
    json_t *object = NULL;
    struct error err = {0};

    request.is_unread = true;
    assert_int_equal(perform(bench, &request, HEAD("200 OK") "4\r\n\r\n{{{}", &object, &err), 0);
    assert_null(object);
    assert_non_null(strstr(bench->server.requests[0],
                           "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
                           "application/json\r\n"));
    assert_int_equal(perform(bench, &request, HEAD("409 Conflict") "2\r\n\r\n{}", &object, &err),
                     -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
}

static void skipped_members_are_not_parsed(void **state)
{
    static const char broken[] = HEAD("200 OK") "16\r\n\r\n{\"b\":{{{},\"a\":1}";
    static const char whole[] = HEAD("200 OK") "14\r\n\r\n{\"b\":{},\"a\":1}";
    static const char *const skipped_members[] = {"b", NULL};
    struct kube_request request = get_pod;
    cleanup_json json_t *object = NULL;
    struct error err = {0};

    request.skipped_members = skipped_members;
    assert_int_equal(perform(*state, &request, broken, &object, &err), -1);
    assert_int_equal(perform(*state, &request, whole, &object, &err), 0);
    assert_int_equal(json_object_size(object), 1);
    assert_int_equal(doc_integer_or(object, "a", 0), 1);
}

static void temporary_errors_are_retried(void **state)
{
    static const char *const answers[] = {HEAD("503 Later") "0\r\n\r\n",
                                          HEAD("200 OK") "2\r\n\r\n{}"};
    struct kube_bench *bench = *state;
    struct error err = {0};

    kube_bench_set_answers(bench, answers, 2);
    assert_int_equal(kube_perform(bench->kube, &get_pod, NULL, &err), 0);
    assert_int_equal(bench->server.request_count, 2);
}

static void requests_that_are_not_idempotent_are_not_retried(void **state)
{
    static const char *const answers[] = {
        HEAD("503 Later") "0\r\n\r\n",
        HEAD("503 Later") "0\r\n\r\n",
        HEAD("429 Wait") "0\r\n\r\n",
        HEAD("200 OK") "2\r\n\r\n{}",
    };
    cleanup_json json_t *body = json_object();
    struct kube_bench *bench = *state;
    struct kube_request once = get_pod;
    const struct kube_request create = {
        .verb = KUBE_CREATE, .resource = KUBE_EVENTS, .namespace_name = "a", .body = body};
    struct error err = {0};

    once.is_not_retried = true;
    kube_bench_set_answers(bench, answers, array_length(answers));
    assert_int_equal(kube_perform(bench->kube, &once, NULL, &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_int_equal(kube_perform(bench->kube, &create, NULL, &err), -1);
    assert_int_equal(bench->server.request_count, 2);
    /* A request rejected with 429 was not processed. */
    assert_int_equal(kube_perform(bench->kube, &create, NULL, &err), 0);
}

/* Allows as many requests as the number says. */
struct allowance {
    const struct loopback *server;
    size_t end;
};

static bool is_allowed(const void *data)
{
    const struct allowance *allowance = data;

    return allowance->server->request_count < allowance->end;
}

static void may_send_is_called_before_each_attempt(void **state)
{
    /* For one, two and three attempts. */
    static const char *const answers[] = {
        HEAD("503 Later") "0\r\n\r\n", HEAD("503 Later") "0\r\n\r\n", HEAD("503 Later") "0\r\n\r\n",
        HEAD("503 Later") "0\r\n\r\n", HEAD("503 Later") "0\r\n\r\n", HEAD("200 OK") "2\r\n\r\n{}",
    };
    struct kube_bench *bench = *state;
    struct kube_request asking = get_pod;
    struct error err = {0};

    asking.may_send = is_allowed;
    kube_bench_set_answers(bench, answers, array_length(answers));
    for (int tries = 0; tries <= 3; tries++) {
        size_t before = bench->server.request_count;
        struct allowance allowance = {&bench->server, before + (size_t)tries};

        asking.may_send_data = &allowance;
        assert_int_equal(kube_perform(bench->kube, &asking, NULL, &err), tries == 3 ? 0 : -1);
        assert_int_equal(bench->server.request_count - before, tries);
        if (tries == 3)
            break;
        assert_int_equal(err.kind, ERROR_CANCELLED);
        assert_non_null(strstr(err.text, "no longer allowed"));
    }
}

static void a_call_fails_at_once_if_the_next_attempt_would_be_too_late(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 429 Wait\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"};
    struct kube_bench *bench = *state;
    struct kube_request request = get_pod;
    struct error err = {0};

    request.timeout_ms = 10000;
    kube_bench_set_answers(bench, answers, 1);
    assert_int_equal(kube_perform(bench->kube, &request, NULL, &err), -1);
    assert_int_equal(err.retry_after_ms, 30000);
    assert_int_equal(bench->server.request_count, 1);
}

static void calls_can_be_cancelled_at_any_time(void **state)
{
    static const char *const later[] = {HEAD("503 Later") "0\r\n\r\n"};
    struct kube_bench *bench = *state;
    struct got waiting = {0};
    struct got sent = {0};
    struct got sleeping = {0};
    struct kube_call *call = NULL;

    kube_cancel(NULL);
    call = start(bench, &get_pod, &waiting);
    kube_cancel(call);

    call = start(bench, &get_pod, &sent);
    while (bench->server.request_count < 1)
        kube_bench_run_once(bench);
    kube_cancel(call);

    kube_bench_set_answers(bench, later, 1);
    call = start(bench, &get_pod, &sleeping);
    while (bench->server.request_count < 2)
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_int_equal(kube_sleeping_count(bench->kube), 1);
    kube_cancel(call);
    assert_int_equal(kube_sleeping_count(bench->kube), 0);
    kube_bench_run_idle(bench);
    assert_int_equal(waiting.count + sent.count + sleeping.count, 0);
}

static void on_done_may_cancel_its_own_call_and_others(void **state)
{
    static const char *const answers[] = {HEAD("200 OK") "2\r\n\r\n{}"};
    struct kube_bench *bench = *state;
    struct got got[3] = {{0}};
    struct kube_call *calls[3] = {NULL};

    kube_bench_set_answers(bench, answers, 1);
    got[0].cancelled = &calls[0];
    for (size_t i = 0; i < 2; i++)
        calls[i] = start(bench, &get_pod, &got[i]);
    while (!got[0].count || !got[1].count)
        kube_bench_run_once(bench);

    bench->answer_count = 0;
    calls[2] = start(bench, &get_pod, &got[2]);
    while (bench->server.request_count < 3)
        kube_bench_run_once(bench);
    kube_bench_set_answers(bench, answers, 1);
    json_decref(got[0].object);
    got[0] = (struct got){.cancelled = &calls[2]};
    calls[0] = start(bench, &get_pod, &got[0]);
    while (!got[0].count)
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_int_equal(got[2].count, 0);
    for (size_t i = 0; i < 3; i++)
        json_decref(got[i].object);
}

static void concurrent_calls_are_limited_and_the_rest_is_queued(void **state)
{
    static const char *const answers[] = {HEAD("200 OK") "2\r\n\r\n{}"};
    struct kube_bench *bench = *state;
    struct got got[KUBE_IN_FLIGHT_MAX + 20] = {{0}};
    size_t done = 0;

    for (size_t i = 0; i < array_length(got); i++)
        (void)start(bench, &get_pod, &got[i]);
    while (bench->server.request_count < KUBE_IN_FLIGHT_MAX)
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_int_equal(bench->server.request_count, KUBE_IN_FLIGHT_MAX);
    /* Each response makes room for one more request. */
    loopback_send(bench->last_connection, answers[0]);
    kube_bench_run_idle(bench);
    assert_int_equal(bench->server.request_count, KUBE_IN_FLIGHT_MAX + 1);
    for (size_t i = 0; i < array_length(got); i++) {
        done += (size_t)got[i].count;
        json_decref(got[i].object);
    }
    assert_int_equal(done, 1);
}

/* Starts count calls, of which sent are expected to be sent. */
static void start_unanswered(struct kube_bench *bench, enum kube_lane lane, uint64_t timeout_ms,
                             struct got *got, size_t count, size_t sent)
{
    struct kube_request request = get_pod;
    size_t before = bench->server.request_count;

    request.lane = lane;
    request.timeout_ms = timeout_ms;
    request.is_not_retried = true;
    for (size_t i = 0; i < count; i++)
        (void)start(bench, &request, &got[i]);
    while (bench->server.request_count < before + sent)
        kube_bench_run_once(bench);
    kube_bench_run_idle(bench);
    assert_int_equal(bench->server.request_count, before + sent);
}

static void lanes_do_not_block_each_other(void **state)
{
    struct kube_bench *bench = *state;
    struct got common[KUBE_IN_FLIGHT_MAX + 1] = {{0}};
    struct got slow[KUBE_SLOW_MAX + 1] = {{0}};
    struct got urgent[2] = {{0}};

    start_unanswered(bench, KUBE_LANE_SLOW, 5000, slow, array_length(slow), KUBE_SLOW_MAX);
    start_unanswered(bench, KUBE_LANE_NORMAL, 5000, common, array_length(common),
                     KUBE_IN_FLIGHT_MAX);
    start_unanswered(bench, KUBE_LANE_URGENT, 5000, urgent, array_length(urgent),
                     array_length(urgent));
    /* One call is queued in the slow lane. */
    assert_int_equal(kube_sleeping_count(bench->kube), 1);
}

static void in_the_slow_lane_the_timeout_includes_the_time_in_the_queue(void **state)
{
    struct kube_bench *bench = *state;
    struct got sent[KUBE_SLOW_MAX] = {{0}};
    struct got got[2 * KUBE_SLOW_MAX] = {{0}};

    start_unanswered(bench, KUBE_LANE_SLOW, 60000, sent, array_length(sent), KUBE_SLOW_MAX);
    start_unanswered(bench, KUBE_LANE_SLOW, 5000, got, array_length(got), 0);
    clock_fake_advance(&bench->clock, 4999);
    kube_bench_run_idle(bench);
    for (size_t i = 0; i < array_length(got); i++)
        assert_int_equal(got[i].count, 0);
    clock_fake_advance(&bench->clock, 1);
    kube_bench_run_idle(bench);
    for (size_t i = 0; i < array_length(got); i++) {
        assert_int_equal(got[i].count, 1);
        assert_int_equal(got[i].err.kind, ERROR_TEMPORARY);
        assert_int_equal(got[i].err.os, ETIMEDOUT);
    }
    assert_int_equal(bench->server.request_count, KUBE_SLOW_MAX);
    assert_int_equal(kube_sleeping_count(bench->kube), 0);
}

static void freeing_the_client_cancels_its_calls(void **state)
{
    struct kube_bench *bench = *state;
    struct got got[2] = {{0}};

    (void)start(bench, &get_pod, &got[0]);
    while (bench->server.request_count < 1)
        kube_bench_run_once(bench);
    (void)start(bench, &get_pod, &got[1]);
    kube_free(bench->kube);
    bench->kube = NULL;
    kube_bench_run_idle(bench);
    assert_int_equal(got[0].count + got[1].count, 0);
}

int main(void)
{
#define test(name_) cmocka_unit_test_setup_teardown(name_, kube_bench_setup, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_response_is_an_object),
        test(a_response_that_is_not_an_object_is_an_error),
        test(an_empty_response_is_an_empty_object),
        test(raw_text_becomes_valid_utf8),
        test(is_tail_keeps_the_end_of_a_long_text),
        test(an_unread_response_is_requested_as_metadata_and_not_parsed),
        test(skipped_members_are_not_parsed),
        test(temporary_errors_are_retried),
        test(requests_that_are_not_idempotent_are_not_retried),
        test(may_send_is_called_before_each_attempt),
        test(a_call_fails_at_once_if_the_next_attempt_would_be_too_late),
        test(calls_can_be_cancelled_at_any_time),
        test(on_done_may_cancel_its_own_call_and_others),
        test(concurrent_calls_are_limited_and_the_rest_is_queued),
        test(lanes_do_not_block_each_other),
        cmocka_unit_test_setup_teardown(in_the_slow_lane_the_timeout_includes_the_time_in_the_queue,
                                        kube_bench_setup_fake, kube_bench_teardown),
        test(freeing_the_client_cancels_its_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
