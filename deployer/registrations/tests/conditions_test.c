/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/conditions.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/registrations/tests/samples.h"
#include "deployer/tests/sample.h"

#define NOW "2026-01-01T00:00:00Z"
#define LATER "2026-01-01T00:01:00Z"

static const json_t *condition(const json_t *status, const char *type)
{
    const json_t *conditions = doc_member(status, "conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (strcmp(doc_text_or(json_array_get(conditions, i), "type", ""), type) == 0)
            return json_array_get(conditions, i);
    }
    fail_msg("no condition %s", type);
    return NULL;
}

static void assert_condition(const json_t *status, const char *type, const char *value,
                             const char *reason)
{
    assert_string_equal(doc_text(condition(status, type), "status"), value);
    assert_string_equal(doc_text(condition(status, type), "reason"), reason);
}

static struct environment_facts facts_of(const json_t *environment)
{
    return (struct environment_facts){
        .environment = environment, .namespace_name = "ls-system", .heartbeat = HEARTBEAT_ALIVE};
}

static void every_heartbeat_has_a_reason(void **state)
{
    static const struct {
        enum heartbeat_state heartbeat;
        bool has_agent;
        const char *status, *reason, *message;
    } cases[] = {
        {HEARTBEAT_ALIVE, true, "True", "HeartbeatReceived", ""},
        {HEARTBEAT_LOST, true, "Unknown", "HeartbeatLost", "ls-system/default"},
        {HEARTBEAT_RELEASED, true, "False", "AgentStopped", "ls-system/default"},
        {HEARTBEAT_UNKNOWN, true, "Unknown", "WaitingForHeartbeat", "Lease"},
        {HEARTBEAT_ABSENT, false, "Unknown", "NoHeartbeat", "v0.98"},
        {HEARTBEAT_ABSENT, true, "Unknown", "LeaseMissing", "landscaperNamespace"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
        struct environment_facts facts = facts_of(environment);
        cleanup_json json_t *status = NULL;

        if (cases[i].has_agent)
            doc_set_text(environment, "status.agent.version", "v1");
        facts.heartbeat = cases[i].heartbeat;
        status = environment_status(&facts, NOW);
        assert_condition(status, "AgentReady", cases[i].status, cases[i].reason);
        assert_non_null(
            strstr(doc_text(condition(status, "AgentReady"), "message"), cases[i].message));
    }
}

/* A restart of the program knows nothing about heartbeats at first, and writes nothing. */
static void what_was_reported_stays_until_something_is_known(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    struct environment_facts facts = facts_of(environment);
    cleanup_json json_t *status = NULL;
    cleanup_json json_t *again = NULL;

    (void)state;
    facts.heartbeat = HEARTBEAT_LOST;
    status = environment_status(&facts, NOW);
    (void)json_object_set(environment, "status", status);
    facts.heartbeat = HEARTBEAT_UNKNOWN;
    again = environment_status(&facts, LATER);
    assert_true(status_is_written(environment, again));
}

static void manual_acceptance_needs_the_annotation(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    struct environment_facts facts = facts_of(environment);
    cleanup_json json_t *automatic = environment_status(&facts, NOW);
    cleanup_json json_t *waiting = NULL;
    cleanup_json json_t *accepted = NULL;

    (void)state;
    assert_condition(automatic, "Accepted", "True", "AcceptedAutomatically");
    facts.is_acceptance_manual = true;
    waiting = environment_status(&facts, NOW);
    assert_condition(waiting, "Accepted", "False", "WaitingForAcceptance");
    assert_false(environment_is_accepted(environment, true));
    (void)json_object_set_new(json_object_get(environment, "metadata"), "annotations",
                              json_pack("{s:s}", ANNOTATION_ACCEPTED, "false"));
    assert_false(environment_is_accepted(environment, true));
    (void)json_object_set_new(json_object_get(environment, "metadata"), "annotations",
                              json_pack("{s:s}", ANNOTATION_ACCEPTED, "true"));
    accepted = environment_status(&facts, NOW);
    assert_condition(accepted, "Accepted", "True", "Accepted");
}

static void deployers_are_counted_and_a_blocked_one_is_named_first(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    cleanup_json json_t *results = json_pack(
        "{s:{s:o},s:{s:o},s:{s:o},s:{s:o}}", "a", "default",
        result_make("a-default", "Ready", "", true, false), "b", "default",
        result_make("b-default", "Creating", "", false, false), "c", "default",
        result_make("c-default", "DependencyCycle", "c -> c", false, true), "d", "other",
        result_make("d-other", "Creating", "", false, false));
    struct environment_facts facts = facts_of(environment);
    cleanup_json json_t *status = NULL;

    (void)state;
    facts.results = results;
    status = environment_status(&facts, NOW);
    assert_condition(status, "DeployersReady", "False", "DependencyCycle");
    assert_string_equal(doc_text(condition(status, "DeployersReady"), "message"),
                        "c: DependencyCycle: c -> c");
    assert_string_equal(doc_text(status, "deployers.summary"), "1/3");
}

static void a_registration_is_blocked_or_waits(void **state)
{
    static const struct {
        const char *phase;
        bool is_blocked;
        const char *status, *reason, *last_error;
    } cases[] = {
        {"DeployerMissing", true, "True", "DeployerMissing", "DeployerMissing"},
        {"WaitingForDeployer", false, "False", "WaitingForDeployer", ""},
        {"Creating", false, "False", "NotBlocked", ""},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *registration = sample_doc(REGISTRATION);
        cleanup_json json_t *results = json_pack(
            "{s:o,s:o}", "one", result_make("mock-one", "Ready", "", true, false), "two",
            result_make("mock-two", cases[i].phase, "because", false, cases[i].is_blocked));
        cleanup_json json_t *status = registration_status(registration, results, NOW);

        assert_condition(status, "Blocked", cases[i].status, cases[i].reason);
        assert_condition(status, "Ready", "False", "NotReady");
        assert_string_equal(doc_text(status, "ready"), "1/2");
        assert_string_equal(doc_text_or(status, "lastError.reason", ""), cases[i].last_error);
        /* Not ready first. */
        assert_string_equal(
            doc_text(json_array_get(doc_member(status, "environments"), 0), "name"), "two");
    }
}

static void events_are_about_changes(void **state)
{
    static const struct {
        enum heartbeat_state before, after;
        const char *reason, *type;
    } cases[] = {
        {HEARTBEAT_ALIVE, HEARTBEAT_ALIVE, NULL, NULL},
        {HEARTBEAT_ALIVE, HEARTBEAT_LOST, "HeartbeatLost", "Warning"},
        {HEARTBEAT_LOST, HEARTBEAT_LOST, NULL, NULL},
        {HEARTBEAT_LOST, HEARTBEAT_ALIVE, "HeartbeatReceived", "Normal"},
        {HEARTBEAT_ALIVE, HEARTBEAT_RELEASED, "AgentStopped", "Warning"},
        {HEARTBEAT_RELEASED, HEARTBEAT_LOST, "HeartbeatLost", "Warning"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
        struct environment_facts facts = facts_of(environment);
        cleanup_json json_t *before = NULL;
        cleanup_json json_t *after = NULL;
        cleanup_json json_t *first = NULL;
        cleanup_json json_t *events = NULL;

        facts.heartbeat = cases[i].before;
        before = environment_status(&facts, NOW);
        first = status_events(environment, before);
        assert_int_equal(json_array_size(first), cases[i].before == HEARTBEAT_RELEASED);
        (void)json_object_set(environment, "status", before);
        facts.heartbeat = cases[i].after;
        after = environment_status(&facts, LATER);
        events = status_events(environment, after);
        assert_int_equal(json_array_size(events), cases[i].reason ? 1 : 0);
        assert_int_equal(status_is_written(environment, after), !cases[i].reason);
        if (!cases[i].reason)
            continue;
        assert_string_equal(doc_text(json_array_get(events, 0), "reason"), cases[i].reason);
        assert_string_equal(doc_text(json_array_get(events, 0), "type"), cases[i].type);
    }
}

static void a_name_that_is_taken_is_reported(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    struct environment_facts facts = facts_of(environment);
    cleanup_json json_t *status = NULL;

    (void)state;
    facts.problem = "a Target exists";
    status = environment_status(&facts, NOW);
    assert_condition(status, "Valid", "False", "NameConflict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_heartbeat_has_a_reason),
        cmocka_unit_test(what_was_reported_stays_until_something_is_known),
        cmocka_unit_test(manual_acceptance_needs_the_annotation),
        cmocka_unit_test(deployers_are_counted_and_a_blocked_one_is_named_first),
        cmocka_unit_test(a_registration_is_blocked_or_waits),
        cmocka_unit_test(events_are_about_changes),
        cmocka_unit_test(a_name_that_is_taken_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
