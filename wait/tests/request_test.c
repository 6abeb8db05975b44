/* SPDX-License-Identifier: Apache-2.0 */
/* The client and loop_run_once() are replaced (linker --wrap): answers come from a table, and a
 * fake clock skips every pause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/loop.h"
#include "wait/request.h"

struct answer {
    enum error_kind kind; /* ERROR_NONE: success */
    int http_status;
    bool is_lost; /* never answered */
};

static struct fake {
    struct clock_fake clock;
    struct loop *loop;
    const struct answer *answers; /* the last one is repeated */
    size_t answer_count;
    int requests, cancelled;
    struct kube_request pending; /* on_done NULL: none */
    bool is_pending_lost;
    struct answer pending_answer;
    struct observed observed;
    uint64_t stop_at_ms; /* when SIGTERM comes; 0: never */
} fake;

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err);
void __wrap_kube_cancel(struct kube_call *call);
struct loop *__wrap_kube_loop(struct kube *kube);
int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err);

int __wrap_kube_start(struct kube *kube, const struct kube_request *request,
                      struct kube_call **ret_call, struct error *err)
{
    size_t index =
        (size_t)fake.requests < fake.answer_count ? (size_t)fake.requests : fake.answer_count - 1;

    (void)kube;
    (void)err;
    assert_true(request->is_not_retried);
    fake.requests++;
    fake.pending = *request;
    fake.pending_answer = fake.answers[index];
    *ret_call = (struct kube_call *)&fake.pending;
    return 0;
}

void __wrap_kube_cancel(struct kube_call *call)
{
    if (!call)
        return;
    fake.cancelled++;
    fake.pending.on_done = NULL;
}

int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err)
{
    kube_done_fn *on_done = fake.pending.on_done;

    (void)loop;
    (void)err;
    if (on_done && !fake.pending_answer.is_lost) {
        struct error failure = {.kind = fake.pending_answer.kind,
                                .http_status = fake.pending_answer.http_status,
                                .text = "message of the server"};
        json_t *object = failure.kind == ERROR_NONE ? json_object() : NULL;

        fake.pending.on_done = NULL;
        on_done(fake.pending.data, object, &failure);
        json_decref(object);
        clock_fake_advance(&fake.clock, 10);
        return 0;
    }
    assert_true(max_wait_ms >= 0);
    clock_fake_advance(&fake.clock, (uint64_t)max_wait_ms);
    if (fake.stop_at_ms && fake.clock.monotonic_now_ms >= fake.stop_at_ms &&
        !fake.observed.is_stopped) {
        fake.observed.is_stopped = true;
        fake.observed.stopped_at_ms = fake.clock.monotonic_now_ms;
    }
    return 0;
}

struct loop *__wrap_kube_loop(struct kube *kube)
{
    (void)kube;
    return fake.loop;
}

static int set_up(void **state)
{
    struct error err = {0};

    (void)state;
    fake = (struct fake){0};
    clock_fake_init(&fake.clock, 1700000000000);
    fake.observed.grace_ms = 300000;
    fake.observed.end.kind = MAIN_ENDED;
    return loop_new(&fake.clock.clock, &fake.loop, &err);
}

static int tear_down(void **state)
{
    (void)state;
    loop_free(fake.loop);
    return 0;
}

static int perform(enum kube_verb verb, const struct answer *answers, size_t count,
                   struct error *err)
{
    const struct kube_request request = {.verb = verb};
    const struct deadline deadline = {
        .loop = fake.loop, .observed = &fake.observed, .request_ms = 30000};

    fake.answers = answers;
    fake.answer_count = count;
    fake.requests = 0;
    return request_perform(NULL, &deadline, &request, NULL, NULL, NULL, err);
}

static const struct {
    const char *name;
    enum kube_verb verb;
    struct answer answers[4];
    size_t count;
    int result, requests;
    enum error_kind kind;
} cases[] = {
    {"stored", KUBE_CREATE, {{ERROR_NONE, 201, false}}, 1, 0, 1, ERROR_NONE},
    {"500, then stored",
     KUBE_CREATE,
     {{ERROR_TEMPORARY, 500, false}, {ERROR_NONE, 201, false}},
     2,
     0,
     2,
     ERROR_NONE},
    {"applied, the answer lost, then exists",
     KUBE_CREATE,
     {{ERROR_TEMPORARY, 0, true}, {ERROR_EXISTS, 409, false}},
     2,
     -1,
     2,
     ERROR_EXISTS},
    {"a conflict on a create is tried again",
     KUBE_CREATE,
     {{ERROR_CONFLICT, 409, false}, {ERROR_NONE, 201, false}},
     2,
     0,
     2,
     ERROR_NONE},
    {"a conflict on an update is the caller's",
     KUBE_UPDATE,
     {{ERROR_CONFLICT, 409, false}},
     1,
     -1,
     1,
     ERROR_CONFLICT},
    {"denied", KUBE_CREATE, {{ERROR_DENIED, 403, false}}, 1, -1, 1, ERROR_DENIED},
    {"invalid", KUBE_CREATE, {{ERROR_INVALID, 422, false}}, 1, -1, 1, ERROR_INVALID},
    {"too large", KUBE_CREATE, {{ERROR_TOO_LARGE, 413, false}}, 1, -1, 1, ERROR_TOO_LARGE},
    {"not found", KUBE_GET, {{ERROR_NOT_FOUND, 404, false}}, 1, -1, 1, ERROR_NOT_FOUND},
    {"an expired token, then a new one",
     KUBE_CREATE,
     {{ERROR_DENIED, 401, false}, {ERROR_DENIED, 401, false}, {ERROR_NONE, 201, false}},
     3,
     0,
     3,
     ERROR_NONE},
};

static void only_temporary_errors_are_retried(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct error err = {0};
        int result = perform(cases[i].verb, cases[i].answers, cases[i].count, &err);

        print_message("%s\n", cases[i].name);
        assert_int_equal(result, cases[i].result);
        assert_int_equal(fake.requests, cases[i].requests);
        assert_int_equal(err.kind, result < 0 ? cases[i].kind : err.kind);
    }
}

static void requests_are_retried_while_the_api_server_is_away_for_an_hour(void **state)
{
    static struct answer answers[400];
    struct error err = {0};
    size_t failures = 360; /* with pauses of up to 10 s, well over half an hour */

    (void)state;
    for (size_t i = 0; i < failures; i++)
        answers[i] = (struct answer){ERROR_TEMPORARY, 0, false};
    answers[failures] = (struct answer){ERROR_NONE, 201, false};
    assert_int_equal(perform(KUBE_CREATE, answers, failures + 1, &err), 0);
    assert_int_equal(fake.requests, failures + 1);
    assert_true(fake.clock.monotonic_now_ms > 1700000);
}

static void after_sigterm_retries_end_before_the_grace_period(void **state)
{
    static const struct answer away = {ERROR_TEMPORARY, 503, false};
    static const struct answer silent = {ERROR_TEMPORARY, 0, true};
    const struct answer *const kinds[] = {&away, &silent};

    (void)state;
    for (size_t i = 0; i < array_length(kinds); i++) {
        struct error err = {0};

        fake.observed.is_stopped = false;
        fake.stop_at_ms = fake.clock.monotonic_now_ms + 1000000;
        assert_int_equal(perform(KUBE_CREATE, kinds[i], 1, &err), -1);
        assert_int_equal(err.kind, ERROR_TEMPORARY);
        assert_non_null(strstr(err.text, "gave up at the end of the grace period"));
        assert_true(fake.observed.is_stopped);
        assert_in_range(fake.clock.monotonic_now_ms - fake.observed.stopped_at_ms, 280000, 299000);
        assert_null(fake.pending.on_done);
    }
}

static void a_rejected_token_is_an_error_after_two_minutes(void **state)
{
    static const struct answer refused = {ERROR_DENIED, 401, false};
    struct error err = {0};

    (void)state;
    assert_int_equal(perform(KUBE_CREATE, &refused, 1, &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_in_range(fake.clock.monotonic_now_ms, 120000, 140000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_temporary_errors_are_retried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            requests_are_retried_while_the_api_server_is_away_for_an_hour, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_sigterm_retries_end_before_the_grace_period, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rejected_token_is_an_error_after_two_minutes, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
