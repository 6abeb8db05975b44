/* SPDX-License-Identifier: Apache-2.0 */
/* One day of a controller in simulated time: lease renewals, a watch with events that ends and is
 * resumed, and jumps of the wall clock. No event is lost, and memory does not grow. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/tests/descriptors.h"
#include "common/data/doc.h"
#include "common/kube/lease.h"
#include "common/kube/tests/kube_bench.h"
#include "common/kube/watch.h"

enum {
    STEP_MS = 10000, /* between lease renewals */
    STEPS = 24 * 60 * 60 * 1000 / STEP_MS,
    STEPS_OF_EVENT = 6,   /* a minute */
    STEPS_OF_STREAM = 30, /* five minutes, after which the server ends the watch */
    STEPS_OF_JUMP = 360,  /* an hour */
    STEPS_TO_WARM_UP = 2 * STEPS_OF_JUMP,
    TURNS_MAX = 100000,
    GROWTH_MAX_BYTES = 16 * 1024, /* per day; one leak per renewal would be half a megabyte */
};

struct day {
    struct kube_bench *bench;
    struct loopback_connection *stream; /* of the open watch */
    char *lease_text;                   /* as last written */
    int renewals, streams, events, broken, changes, next_event;
    bool is_leader;
};

static void serve_lease(struct day *day, struct loopback_connection *connection,
                        const char *request)
{
    if (strncmp(request, "GET ", 4) == 0) {
        loopback_answer(connection, day->lease_text ? "200 OK" : "404 Not Found", "",
                        day->lease_text ? day->lease_text : "{}");
        return;
    }
    free(day->lease_text);
    day->lease_text = xstrdup(strstr(request, "\r\n\r\n") + 4);
    day->renewals++;
    loopback_answer(connection, "200 OK", "", day->lease_text);
}

static void serve(void *data, struct loopback_connection *connection, const char *request)
{
    struct day *day = data;

    if (strstr(request, "/leases")) {
        serve_lease(day, connection, request);
    } else if (strstr(request, "watch=true")) {
        cleanup_free char *head = answer_stream("\n");

        day->stream = connection;
        day->streams++;
        loopback_send(connection, head);
    } else {
        loopback_answer(connection, "200 OK", "",
                        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
    }
}

static void on_change(void *data, bool is_leader)
{
    struct day *day = data;

    day->changes++;
    day->is_leader = is_leader;
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct day *day = data;

    (void)object;
    (void)err;
    if (event == KUBE_EVENT_MODIFIED)
        day->events++;
    if (event == KUBE_EVENT_BROKEN)
        day->broken++;
}

/* Runs until the count is reached, without advancing the clock. */
static void run_until(const struct day *day, const int *count, int wanted)
{
    struct error err = {0};

    for (int i = 0; *count < wanted; i++) {
        assert_true(i < TURNS_MAX);
        assert_int_equal(loop_run_once(day->bench->loop, 1, &err), 0);
    }
    for (int i = 0; i < 5; i++) /* the client reads the response */
        assert_int_equal(loop_run_once(day->bench->loop, 0, &err), 0);
}

static void forget_requests(struct loopback *server)
{
    while (server->request_count > 0)
        free(server->requests[--server->request_count]);
}

static void send_event(struct day *day)
{
    cleanup_free char *line = xasprintf("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":"
                                        "\"a\",\"resourceVersion\":\"%d\"}}}\n",
                                        ++day->next_event + 1);
    cleanup_free char *chunk = xasprintf("%zx\r\n%s\r\n", strlen(line), line);

    loopback_send(day->stream, chunk);
    run_until(day, &day->events, day->next_event);
}

/* Back by hours, forward by years, like a machine that has lost its time. */
static void jump(struct day *day, int number)
{
    static const int64_t jumps_ms[] = {-3600000, 7200000, -86400000LL * 365, 86400000LL * 3650, 1};

    day->bench->clock.unix_now_ms += jumps_ms[(size_t)number % array_length(jumps_ms)];
}

static void step(struct day *day, int number)
{
    int renewals = day->renewals;

    clock_fake_advance(&day->bench->clock, STEP_MS);
    run_until(day, &day->renewals, renewals + 1);
    if (number % STEPS_OF_EVENT == 0)
        send_event(day);
    if (number % STEPS_OF_STREAM == 0) {
        int streams = day->streams;

        loopback_send(day->stream, "0\r\n\r\n");
        run_until(day, &day->streams, streams + 1);
    }
    if (number % STEPS_OF_JUMP == 0)
        jump(day, number / STEPS_OF_JUMP);
    forget_requests(&day->bench->server);
}

/* 0 under a sanitizer, which checks for leaks itself. */
static size_t heap_bytes(void)
{
    return mallinfo2().uordblks;
}

static void a_day_with_clock_jumps_leaks_nothing(void **state)
{
    struct kube_bench *bench = *state;
    struct day day = {.bench = bench};
    struct lease *lease = NULL;
    struct kube_watch *watch = NULL;
    struct error err = {0};
    unsigned descriptors = 0;
    size_t bytes = 0;
    const struct lease_options lease_options = {
        .namespace_name = "a",
        .name = "l",
        .identity = "us",
        .duration_ms = 60000,
        .renew_deadline_ms = 40000,
        .retry_ms = STEP_MS,
        .on_change = on_change,
        .data = &day,
    };
    const struct kube_watch_options watch_options = {
        .resource = {"", "v1", "pods"}, .namespace_name = "a", .on_event = on_event, .data = &day};

    bench->server.on_request = serve;
    bench->server.data = &day;
    assert_int_equal(lease_start(bench->kube, &lease_options, &lease, &err), 0);
    assert_int_equal(kube_watch_start(bench->kube, &watch_options, &watch, &err), 0);
    run_until(&day, &day.renewals, 1);
    run_until(&day, &day.streams, 1);
    for (int i = 1; i <= STEPS; i++) {
        step(&day, i);
        assert_true(lease_is_held(lease));
        if (i == STEPS_TO_WARM_UP) {
            descriptors = open_descriptors();
            bytes = heap_bytes();
        }
    }
    assert_int_equal(open_descriptors(), descriptors);
    assert_true(heap_bytes() < bytes + GROWTH_MAX_BYTES);
    assert_int_equal(day.changes, 1);
    assert_int_equal(day.broken, 0);
    assert_int_equal(day.events, STEPS / STEPS_OF_EVENT);
    kube_watch_stop(watch);
    lease_release(lease, 1000);
    free(day.lease_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_day_with_clock_jumps_leaks_nothing, kube_bench_setup_fake,
                                        kube_bench_teardown),
    };

    /* Otherwise certificate directories would be read for each of ten thousand requests. */
    (void)unsetenv("SSL_CERT_FILE");
    (void)unsetenv("SSL_CERT_DIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
