/* SPDX-License-Identifier: Apache-2.0 */
/* The doing of leader election, with a Lease that the test keeps and a clock that it moves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/lease.h"
#include "common/kube/tests/kube_bench.h"

struct api {
    struct kube_bench *bench;
    json_t *stored; /* NULL: no Lease */
    int version;
    bool is_down;
    bool is_slow; /* takes requests and does not answer */
    char changes[64];
    int problem_count;
    struct lease *lease;
};

static void answer(struct loopback_connection *connection, const char *status, const json_t *body)
{
    cleanup_free char *text = doc_dump(body);

    loopback_answer(connection, status, "", text);
}

static void store(struct api *api, json_t *lease)
{
    char version[32];

    (void)snprintf(version, sizeof(version), "%d", ++api->version);
    doc_set_text(lease, "metadata.resourceVersion", version);
    json_decref(api->stored);
    api->stored = lease;
}

static void serve(void *data, struct loopback_connection *connection, const char *request)
{
    struct api *api = data;
    const char *body = strstr(request, "\r\n\r\n") + 4;
    cleanup_json json_t *none = json_object();
    json_t *sent = NULL;
    struct error err = {0};

    if (api->is_slow)
        return;
    if (api->is_down) {
        answer(connection, "503 Down", none);
    } else if (strncmp(request, "GET ", 4) == 0) {
        answer(connection, api->stored ? "200 OK" : "404 Not Found",
               api->stored ? api->stored : none);
    } else {
        assert_int_equal(doc_parse_json(body, strlen(body), 65536, &sent, &err), 0);
        if (strncmp(request, "PUT ", 4) == 0 &&
            strcmp(doc_text_or(sent, "metadata.resourceVersion", ""),
                   doc_text_or(api->stored, "metadata.resourceVersion", "")) != 0) {
            answer(connection, "409 Conflict", none);
            json_decref(sent);
            return;
        }
        store(api, sent);
        answer(connection, "200 OK", api->stored);
    }
}

static void on_change(void *data, bool is_leader)
{
    struct api *api = data;
    size_t used = strlen(api->changes);

    (void)snprintf(api->changes + used, sizeof(api->changes) - used, "%c", is_leader ? '+' : '-');
}

static void on_problem(void *data, const struct error *err)
{
    struct api *api = data;

    assert_int_not_equal(err->kind, ERROR_NONE);
    api->problem_count++;
}

static void begin(void **state, struct api *api)
{
    struct kube_bench *bench = *state;
    const struct lease_options options = {
        .namespace_name = "a",
        .name = "l",
        .identity = "us",
        .on_change = on_change,
        .on_problem = on_problem,
        .data = api,
    };
    struct error err = {0};

    api->bench = bench;
    bench->server.on_request = serve;
    bench->server.data = api;
    assert_int_equal(lease_start(bench->kube, &options, &api->lease, &err), 0);
    assert_false(lease_is_held(api->lease));
}

static void pass(struct api *api, uint64_t ms)
{
    clock_fake_advance(&api->bench->clock, ms);
    kube_bench_run_idle(api->bench);
}

static void end(struct api *api)
{
    lease_release(api->lease, 1000);
    json_decref(api->stored);
}

static json_t *others(const char *holder, const char *renewed)
{
    return json_pack("{s:{s:s}, s:{s:s, s:s, s:i, s:i}}", "metadata", "name", "l", "spec",
                     "holderIdentity", holder, "renewTime", renewed, "leaseDurationSeconds", 15,
                     "leaseTransitions", 4);
}

static void a_lease_that_is_not_there_is_made_and_renewed(void **state)
{
    struct api api = {0};
    int version = 0;

    begin(state, &api);
    pass(&api, 0);
    assert_string_equal(api.changes, "+");
    assert_true(lease_is_held(api.lease));
    assert_string_equal(doc_text(api.stored, "spec.holderIdentity"), "us");
    for (int i = 0; i < 10; i++) {
        version = api.version;
        pass(&api, 2000);
        assert_int_equal(api.version, version + 1);
        assert_true(lease_is_held(api.lease));
    }
    assert_string_equal(api.changes, "+");
    assert_int_equal(doc_integer_or(api.stored, "spec.leaseTransitions", -1), 0);
    end(&api);
}

static void a_lease_of_another_is_taken_when_it_was_not_renewed_for_its_duration(void **state)
{
    struct api api = {0};

    store(&api, others("them", "2000-01-01T00:00:00.000000Z"));
    begin(state, &api);
    for (int i = 0; i < 3; i++) {
        pass(&api, 2000);
        assert_string_equal(api.changes, "");
    }
    /* They renew: the waiting starts over, whatever their clock says. */
    store(&api, others("them", "1999-01-01T00:00:00.000000Z"));
    for (int i = 0; i < 7; i++) {
        pass(&api, 2000);
        assert_string_equal(api.changes, "");
    }
    pass(&api, 2000);
    pass(&api, 2000);
    assert_string_equal(api.changes, "+");
    assert_int_equal(doc_integer_or(api.stored, "spec.leaseTransitions", 0), 5);
    end(&api);
}

static void a_lease_that_was_given_back_is_taken_at_once(void **state)
{
    struct api api = {0};

    store(&api, others("", "2000-01-01T00:00:00.000000Z"));
    begin(state, &api);
    pass(&api, 0);
    assert_string_equal(api.changes, "+");
    end(&api);
}

static void a_leader_that_cannot_renew_is_none_after_the_deadline(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    api.is_down = true;
    for (int i = 0; i < 4; i++)
        pass(&api, 2000);
    assert_true(lease_is_held(api.lease));
    assert_string_equal(api.changes, "+");
    pass(&api, 2000);
    assert_false(lease_is_held(api.lease));
    assert_string_equal(api.changes, "+-");
    assert_true(api.problem_count > 0);
    api.is_down = false;
    pass(&api, 2000);
    assert_string_equal(api.changes, "+-+");
    end(&api);
}

static void a_leader_that_stood_still_is_none_before_it_does_anything(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    assert_true(lease_is_held(api.lease));
    clock_fake_advance(&api.bench->clock, 10000);
    assert_false(lease_is_held(api.lease)); /* no loop has run */
    end(&api);
}

static void a_renewal_that_is_answered_too_late_does_not_count(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    api.is_slow = true;
    pass(&api, 2000); /* sent now */
    pass(&api, 8000);
    assert_false(lease_is_held(api.lease));
    assert_string_equal(api.changes, "+-");
    end(&api);
}

static void a_leader_whose_lease_was_taken_learns_it_by_the_conflict(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    store(&api, others("them", "2000-01-01T00:00:00.000000Z"));
    pass(&api, 2000);
    pass(&api, 2000);
    assert_string_equal(api.changes, "+-");
    assert_false(lease_is_held(api.lease));
    assert_string_equal(doc_text(api.stored, "spec.holderIdentity"), "them");
    assert_int_equal(api.problem_count, 0);
    end(&api);
}

static void the_lease_is_given_back_on_release_and_nobody_is_told(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    lease_release(api.lease, 1000);
    assert_string_equal(doc_text(api.stored, "spec.holderIdentity"), "");
    assert_string_equal(api.changes, "+");
    json_decref(api.stored);
    lease_release(NULL, 0);
}

static void a_lease_of_another_is_left_alone_on_release(void **state)
{
    struct api api = {0};

    store(&api, others("them", "2000-01-01T00:00:00.000000Z"));
    begin(state, &api);
    pass(&api, 0);
    lease_release(api.lease, 1000);
    assert_string_equal(doc_text(api.stored, "spec.holderIdentity"), "them");
    assert_int_equal(api.version, 1);
    json_decref(api.stored);
}

static void a_name_that_cannot_be_sent_is_told_again_and_again(void **state)
{
    struct kube_bench *bench = *state;
    struct api api = {.bench = bench};
    const struct lease_options options = {.namespace_name = "..",
                                          .name = "l",
                                          .identity = "us",
                                          .on_change = on_change,
                                          .on_problem = on_problem,
                                          .data = &api};
    struct error err = {0};

    assert_int_equal(lease_start(bench->kube, &options, &api.lease, &err), 0);
    pass(&api, 60000);
    pass(&api, 60000);
    assert_true(api.problem_count >= 2);
    assert_string_equal(api.changes, "");
    assert_int_equal(bench->server.request_count, 0);
    end(&api);
}

static void times_that_do_not_fit_together_are_refused(void **state)
{
    static const struct {
        uint32_t duration_ms, renew_deadline_ms, retry_ms;
        const char *identity;
    } cases[] = {
        {10000, 10000, 2000, "us"},
        {15000, 2000, 2000, "us"},
        {15500, 10000, 2000, "us"},
        {15000, 10000, 2000, ""},
    };
    struct kube_bench *bench = *state;

    for (size_t i = 0; i < array_length(cases); i++) {
        const struct lease_options options = {
            .namespace_name = "a",
            .name = "l",
            .identity = cases[i].identity,
            .duration_ms = cases[i].duration_ms,
            .renew_deadline_ms = cases[i].renew_deadline_ms,
            .retry_ms = cases[i].retry_ms,
        };
        struct lease *lease = NULL;
        struct error err = {0};

        assert_int_equal(lease_start(bench->kube, &options, &lease, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(lease);
    }
}

int main(void)
{
#define test(name_)                                                                                \
    cmocka_unit_test_setup_teardown(name_, kube_bench_setup_fake, kube_bench_teardown)
    const struct CMUnitTest tests[] = {
        test(a_lease_that_is_not_there_is_made_and_renewed),
        test(a_lease_of_another_is_taken_when_it_was_not_renewed_for_its_duration),
        test(a_lease_that_was_given_back_is_taken_at_once),
        test(a_leader_that_cannot_renew_is_none_after_the_deadline),
        test(a_leader_that_stood_still_is_none_before_it_does_anything),
        test(a_renewal_that_is_answered_too_late_does_not_count),
        test(a_leader_whose_lease_was_taken_learns_it_by_the_conflict),
        test(the_lease_is_given_back_on_release_and_nobody_is_told),
        test(a_lease_of_another_is_left_alone_on_release),
        test(a_name_that_cannot_be_sent_is_told_again_and_again),
        test(times_that_do_not_fit_together_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
