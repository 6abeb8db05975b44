/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/kube/gate.h"

static const struct error FINE = {0};
static const struct error REFUSED = {
    .kind = ERROR_TEMPORARY, .os = ECONNREFUSED, .text = "connection refused"};
static const struct error TIMED_OUT = {
    .kind = ERROR_TEMPORARY, .os = ETIMEDOUT, .text = "timed out"};
static const struct error BROKEN = {.kind = ERROR_TEMPORARY, .text = "reset"};
static const struct error UNTRUSTED = {.kind = ERROR_DENIED, .text = "certificate"};

#define cleanup_gate __attribute__((cleanup(kube_gate_done)))

static bool is_open(struct kube_gate *gate, uint64_t now_ms)
{
    struct error err = {0};

    return kube_gate_check(gate, now_ms, "https://s", &err) == 0;
}

static void which_errors_close_it(void **state)
{
    static const struct {
        const struct error *err;
        bool is_used;
        uint64_t answered_ms; /* 0: never */
        bool is_closed;
    } cases[] = {
        {&FINE, true, 0, false},       {&REFUSED, true, 0, true},
        {&REFUSED, true, 99999, true}, {&REFUSED, false, 0, false},
        {&TIMED_OUT, true, 0, true},   {&TIMED_OUT, true, 100000 - KUBE_GATE_QUIET_MS, true},
        {&BROKEN, true, 0, false},     {&TIMED_OUT, true, 100001 - KUBE_GATE_QUIET_MS, false},
        {&UNTRUSTED, true, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_gate struct kube_gate gate = {0};

        if (cases[i].is_used)
            kube_gate_use(&gate);
        if (cases[i].answered_ms)
            kube_gate_note(&gate, cases[i].answered_ms, &FINE);
        kube_gate_note(&gate, 100000, cases[i].err);
        assert_int_equal(!is_open(&gate, 100000), cases[i].is_closed);
        kube_gate_note(&gate, 100001, &FINE);
        assert_null(gate.err); /* it is large, and there are thousands of gates */
    }
}

static void one_attempt_at_a_time_is_made_with_back_off_until_the_server_responds(void **state)
{
    cleanup_gate struct kube_gate gate = {0};
    uint64_t now_ms = 5000;
    uint64_t last_step_ms = 0;

    (void)state;
    kube_gate_use(&gate);
    kube_gate_note(&gate, now_ms, &REFUSED);
    for (int i = 0; i < 8; i++) {
        uint64_t step_ms = gate.next_ms - now_ms;

        /* Others that were under way fail as well: that changes nothing. */
        kube_gate_note(&gate, now_ms, &REFUSED);
        assert_int_equal(gate.next_ms, now_ms + step_ms);
        assert_true(step_ms <= KUBE_GATE_MAX_MS);
        assert_true(i == 0 || i > 5 || step_ms >= last_step_ms);
        last_step_ms = step_ms;
        assert_false(is_open(&gate, gate.next_ms - 1));
        now_ms = gate.next_ms;
        assert_true(is_open(&gate, now_ms));
        assert_false(is_open(&gate, now_ms));
        kube_gate_note(&gate, now_ms, &TIMED_OUT);
        assert_false(is_open(&gate, now_ms));
    }
    assert_true(last_step_ms >= KUBE_GATE_MAX_MS / 2);
    now_ms = gate.next_ms;
    assert_true(is_open(&gate, now_ms));
    kube_gate_note(&gate, now_ms, &FINE);
    assert_true(is_open(&gate, now_ms));
    assert_true(is_open(&gate, now_ms));
    kube_gate_note(&gate, now_ms, &REFUSED);
    assert_true(gate.next_ms <= now_ms + KUBE_GATE_FIRST_MS);
}

static void an_attempt_that_is_cancelled_does_not_keep_it_closed(void **state)
{
    cleanup_gate struct kube_gate gate = {0};
    uint64_t now_ms = 0;

    (void)state;
    kube_gate_use(&gate);
    kube_gate_note(&gate, 1, &REFUSED);
    now_ms = gate.next_ms;
    assert_true(is_open(&gate, now_ms));
    assert_false(is_open(&gate, now_ms + KUBE_GATE_ATTEMPT_MS - 1));
    assert_true(is_open(&gate, now_ms + KUBE_GATE_ATTEMPT_MS));
}

static void the_error_names_server_reason_and_time(void **state)
{
    cleanup_gate struct kube_gate gate = {0};
    struct error err = {0};

    (void)state;
    kube_gate_use(&gate);
    kube_gate_note(&gate, 1, &REFUSED);
    assert_int_equal(kube_gate_check(&gate, 1, "https://s", &err), -1);
    assert_int_equal(err.kind, ERROR_TEMPORARY);
    assert_int_equal(err.os, ECONNREFUSED);
    assert_int_equal(err.retry_after_ms, gate.next_ms - 1);
    assert_string_equal(err.text, "server \"https://s\" does not respond, next attempt in 1 s: "
                                  "connection refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_errors_close_it),
        cmocka_unit_test(one_attempt_at_a_time_is_made_with_back_off_until_the_server_responds),
        cmocka_unit_test(an_attempt_that_is_cancelled_does_not_keep_it_closed),
        cmocka_unit_test(the_error_names_server_reason_and_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
