/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election with a Lease stored by the test and a clock moved by the test. */
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
    bool are_owners_denied;
    bool is_slow; /* holds requests back until serve_held() */
    struct loopback_connection *held_connection;
    char *held_request;
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

    if (api->is_slow) {
        free(api->held_request);
        api->held_connection = connection;
        api->held_request = xstrdup(request);
        return;
    }
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
        if (api->are_owners_denied && doc_get(sent, "metadata.ownerReferences")) {
            answer(connection, "403 Forbidden", none);
            json_decref(sent);
            return;
        }
        store(api, sent);
        answer(connection, "200 OK", api->stored);
    }
}

/* Answers the last request that was held back. */
static void serve_held(struct api *api)
{
    cleanup_free char *request = steal(&api->held_request);

    assert_non_null(request);
    api->is_slow = false;
    serve(api, api->held_connection, request);
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
    free(api->held_request);
}

static json_t *others(const char *holder, const char *renewed)
{
    return json_pack("{s:{s:s}, s:{s:s, s:s, s:i, s:i}}", "metadata", "name", "l", "spec",
                     "holderIdentity", holder, "renewTime", renewed, "leaseDurationSeconds", 15,
                     "leaseTransitions", 4);
}

static void a_missing_lease_is_created_and_renewed(void **state)
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

static void an_expired_lease_of_another_holder_is_taken(void **state)
{
    struct api api = {0};

    store(&api, others("them", "2000-01-01T00:00:00.000000Z"));
    begin(state, &api);
    for (int i = 0; i < 3; i++) {
        pass(&api, 2000);
        assert_string_equal(api.changes, "");
    }
    /* The holder renews: the duration starts again, whatever its clock says. */
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

static void a_released_lease_is_taken_at_once(void **state)
{
    struct api api = {0};

    store(&api, others("", "2000-01-01T00:00:00.000000Z"));
    begin(state, &api);
    pass(&api, 0);
    assert_string_equal(api.changes, "+");
    end(&api);
}

static void leadership_ends_if_renewals_fail_until_the_deadline(void **state)
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

static void a_stopped_process_knows_at_once_that_its_lease_expired(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    assert_true(lease_is_held(api.lease));
    clock_fake_advance(&api.bench->clock, 10000);
    assert_false(lease_is_held(api.lease)); /* before the loop runs */
    end(&api);
}

static void a_renewal_that_is_never_answered_does_not_count(void **state)
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

/* The server may have stored the renewal as early as the moment it was sent. Other candidates count
 * the lease duration from then, so the leader must too. */
static void a_renewal_counts_from_its_request_not_from_its_answer(void **state)
{
    struct api api = {0};

    begin(state, &api);
    pass(&api, 0);
    api.is_slow = true;
    pass(&api, 2000); /* the renewal is sent */
    pass(&api, 4000);
    serve_held(&api); /* and answered 4 s later */
    api.is_slow = true;
    kube_bench_run_idle(api.bench);
    assert_int_equal(api.version, 2);
    assert_true(lease_is_held(api.lease));
    pass(&api, 5999);
    assert_true(lease_is_held(api.lease));
    assert_string_equal(api.changes, "+");
    pass(&api, 1); /* 10 s after the request, 6 s after the answer */
    assert_false(lease_is_held(api.lease));
    assert_string_equal(api.changes, "+-");
    end(&api);
}

/* Moves on with every read, as a real clock does when the process is preempted between two. */
static uint64_t moving_clock_ms(struct clock *clock)
{
    struct clock_fake *fake = (struct clock_fake *)(void *)clock;

    return fake->monotonic_now_ms += 2;
}

static int shortest_wait_ms;

int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err);
int __real_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err);

int __wrap_loop_run_once(struct loop *loop, int max_wait_ms, struct error *err)
{
    if (max_wait_ms < shortest_wait_ms)
        shortest_wait_ms = max_wait_ms;
    return __real_loop_run_once(loop, max_wait_ms < 0 ? 0 : max_wait_ms, err);
}

/* A negative timeout would wait for the next event of the loop, however late that is. */
static void a_release_never_waits_longer_than_its_timeout(void **state)
{
    for (uint64_t timeout_ms = 1; timeout_ms < 12; timeout_ms++) {
        struct api api = {0};
        struct kube_bench *bench = *state;

        begin(state, &api);
        pass(&api, 0);
        assert_true(lease_is_held(api.lease));
        api.is_slow = true;
        bench->clock.clock.monotonic_ms = moving_clock_ms;
        shortest_wait_ms = 0;
        lease_release(api.lease, timeout_ms);
        assert_int_equal(shortest_wait_ms, 0);
        json_decref(api.stored);
        free(api.held_request);
        assert_int_equal(kube_bench_teardown(state), 0);
        assert_int_equal(kube_bench_setup_fake(state), 0);
    }
}

static void a_conflict_ends_leadership_if_another_holder_took_the_lease(void **state)
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

static void release_clears_the_holder_without_calling_on_change(void **state)
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

static void release_does_not_touch_the_lease_of_another_holder(void **state)
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

static void an_invalid_name_is_reported_at_every_attempt(void **state)
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

static const char *owner_uid(const struct api *api, size_t number)
{
    const json_t *owners = doc_get(api->stored, "metadata.ownerReferences");

    return doc_text_or(json_array_get(owners, number), "uid", "none");
}

static void the_account_of_the_pod_owns_the_lease(void **state)
{
    struct api api = {.bench = *state};
    json_t *old = others("", "2000-01-01T00:00:00.000000Z");

    (void)kube_bench_move_to_pod(api.bench, "a");
    doc_set_new(old, "metadata.ownerReferences", json_pack("[{s:s}]", "uid", "u-0"));
    store(&api, old);
    begin(state, &api);
    pass(&api, 0);
    pass(&api, 2000);
    assert_string_equal(api.changes, "+");
    assert_string_equal(owner_uid(&api, 0), "u-0");
    assert_string_equal(owner_uid(&api, 1), "u-1");
    assert_string_equal(owner_uid(&api, 2), "none"); /* added once */
    end(&api);
}

static void leads_without_an_owner_if_owners_are_denied(void **state)
{
    struct api api = {.bench = *state, .are_owners_denied = true};

    (void)kube_bench_move_to_pod(api.bench, "a");
    begin(state, &api);
    pass(&api, 0);
    assert_string_equal(api.changes, "");
    pass(&api, 2000);
    assert_string_equal(api.changes, "+");
    assert_int_equal(api.problem_count, 1);
    pass(&api, 2000);
    assert_int_equal(api.problem_count, 1);
    end(&api);
}

static void inconsistent_times_are_refused(void **state)
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
        test(a_missing_lease_is_created_and_renewed),
        test(an_expired_lease_of_another_holder_is_taken),
        test(a_released_lease_is_taken_at_once),
        test(leadership_ends_if_renewals_fail_until_the_deadline),
        test(a_stopped_process_knows_at_once_that_its_lease_expired),
        test(a_renewal_that_is_never_answered_does_not_count),
        test(a_renewal_counts_from_its_request_not_from_its_answer),
        test(a_release_never_waits_longer_than_its_timeout),
        test(a_conflict_ends_leadership_if_another_holder_took_the_lease),
        test(release_clears_the_holder_without_calling_on_change),
        test(release_does_not_touch_the_lease_of_another_holder),
        test(an_invalid_name_is_reported_at_every_attempt),
        test(the_account_of_the_pod_owns_the_lease),
        test(leads_without_an_owner_if_owners_are_denied),
        test(inconsistent_times_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
