/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/heartbeat.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/data/doc.h"
#include "deployer/tests/sample.h"

#define LEASE(holder_, renewed_)                                                                   \
    "{metadata: {name: one}, spec: {holderIdentity: '" holder_ "', renewTime: '" renewed_          \
    "', leaseDurationSeconds: 40}}"

static void set(json_t *beats, const char *text, uint64_t now_ms)
{
    cleanup_json json_t *lease = sample_doc(text);

    heartbeat_set(beats, lease, now_ms);
}

static void nothing_is_known_after_a_start_until_it_changes_or_is_too_old(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    assert_int_equal(heartbeat_judge(beats, "one", 5), HEARTBEAT_ABSENT);
    assert_true(heartbeat_next_ms(beats, 5) == UINT64_MAX);
    set(beats, LEASE("a", "t1"), 1000);
    assert_int_equal(heartbeat_judge(beats, "one", 1000), HEARTBEAT_UNKNOWN);
    assert_int_equal(heartbeat_judge(beats, "one", 40999), HEARTBEAT_UNKNOWN);
    assert_int_equal(heartbeat_judge(beats, "one", 41000), HEARTBEAT_LOST);
    set(beats, LEASE("a", "t2"), 50000);
    assert_int_equal(heartbeat_judge(beats, "one", 50000), HEARTBEAT_ALIVE);
}

/* Reported within 45 s: 40 s, and what the timers of the program add. */
static void an_agent_is_lost_40_s_after_the_last_change(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    set(beats, LEASE("a", "t1"), 0);
    set(beats, LEASE("a", "t2"), 10000);
    assert_true(heartbeat_next_ms(beats, 10000) == 50000);
    assert_int_equal(heartbeat_judge(beats, "one", 49999), HEARTBEAT_ALIVE);
    assert_true(heartbeat_age_ms(beats, "one", 49999) == 39999);
    assert_int_equal(heartbeat_judge(beats, "one", 50000), HEARTBEAT_LOST);
    assert_true(heartbeat_next_ms(beats, 50000) == UINT64_MAX);
    /* Another event without a renewal, or a list after a broken watch, is no sign of life. */
    set(beats, LEASE("a", "t2"), 60000);
    assert_int_equal(heartbeat_judge(beats, "one", 60000), HEARTBEAT_LOST);
    /* Another pod of the agent has taken over. */
    set(beats, LEASE("b", "t2"), 70000);
    assert_int_equal(heartbeat_judge(beats, "one", 70000), HEARTBEAT_ALIVE);
}

/* The times in the Lease are those of the agent's clock, which may be wrong by a day. */
static void the_clock_of_the_agent_does_not_matter(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    set(beats, LEASE("a", "2020-01-02T00:00:00.000000Z"), 1);
    set(beats, LEASE("a", "2020-01-01T00:00:00.000000Z"), 2);
    assert_int_equal(heartbeat_judge(beats, "one", 3), HEARTBEAT_ALIVE);
}

static void a_released_lease_is_an_agent_that_has_ended(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    set(beats, LEASE("a", "t1"), 0);
    set(beats, LEASE("", "t2"), 10);
    assert_int_equal(heartbeat_judge(beats, "one", 20), HEARTBEAT_RELEASED);
    heartbeat_remove(beats, "one");
    assert_int_equal(heartbeat_judge(beats, "one", 20), HEARTBEAT_ABSENT);
}

static void a_lease_cannot_ask_for_more_time(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    set(beats, "{metadata: {name: one}, spec: {holderIdentity: a, leaseDurationSeconds: 86400}}", 0);
    assert_int_equal(heartbeat_judge(beats, "one", HEARTBEAT_MAX_MS), HEARTBEAT_LOST);
    set(beats, "{metadata: {name: two}, spec: {holderIdentity: a, leaseDurationSeconds: 2}}", 0);
    assert_int_equal(heartbeat_judge(beats, "two", 2000), HEARTBEAT_LOST);
    set(beats, "{metadata: {name: three}, spec: {holderIdentity: a, leaseDurationSeconds: -5}}", 0);
    assert_int_equal(heartbeat_judge(beats, "three", 39999), HEARTBEAT_UNKNOWN);
}

static void an_outage_of_the_api_server_is_not_the_fault_of_the_agents(void **state)
{
    cleanup_json json_t *beats = json_object();

    (void)state;
    set(beats, "{metadata: {name: lost}, spec: {holderIdentity: a, renewTime: t0}}", 0);
    set(beats, LEASE("a", "t1"), 99000);
    set(beats, LEASE("a", "t2"), 100000);
    /* Broken at 101 s; an hour later everything is listed. */
    set(beats, LEASE("a", "t2"), 3700000);
    set(beats, "{metadata: {name: two}, spec: {holderIdentity: a, renewTime: t9}}", 3700000);
    heartbeat_resume(beats, 101000, 3700000);
    assert_int_equal(heartbeat_judge(beats, "lost", 3700000), HEARTBEAT_LOST);
    assert_int_equal(heartbeat_judge(beats, "one", 3700000), HEARTBEAT_UNKNOWN);
    assert_int_equal(heartbeat_judge(beats, "one", 3740000), HEARTBEAT_LOST);
    set(beats, LEASE("a", "t3"), 3705000);
    assert_int_equal(heartbeat_judge(beats, "one", 3740000), HEARTBEAT_ALIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_after_a_start_until_it_changes_or_is_too_old),
        cmocka_unit_test(an_agent_is_lost_40_s_after_the_last_change),
        cmocka_unit_test(the_clock_of_the_agent_does_not_matter),
        cmocka_unit_test(a_released_lease_is_an_agent_that_has_ended),
        cmocka_unit_test(a_lease_cannot_ask_for_more_time),
        cmocka_unit_test(an_outage_of_the_api_server_is_not_the_fault_of_the_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
