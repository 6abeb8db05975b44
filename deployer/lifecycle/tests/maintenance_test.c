/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/data/timestamp.h"
#include "deployer/lifecycle/maintenance.h"

static struct maintenance_policy *policy_of(const char *text)
{
    cleanup_json json_t *doc = parse(text);
    char *json = doc_dump(doc);
    struct maintenance_policy *policy = NULL;
    struct error err = {0};

    if (maintenance_parse(json, strlen(json), &policy, &err) < 0)
        fail_msg("%s", err.text);
    free(json);
    return policy;
}

static int64_t at(const char *text)
{
    int64_t unix_ms = 0;
    struct error err = {0};

    assert_int_equal(timestamp_parse(text, &unix_ms, &err), 0);
    return unix_ms;
}

static void check(const struct maintenance_policy *policy, struct maintenance_cluster cluster,
                  const char *now, int64_t least_minutes, const char *begin, const char *end)
{
    struct maintenance_window window = {0};
    char text[TIMESTAMP_MAX];
    struct error err = {0};

    assert_int_equal(
        maintenance_find(policy, &cluster, at(now), least_minutes * 60 * 1000, &window, &err), 0);
    timestamp_format(window.begin_unix_ms, text);
    assert_string_equal(text, begin);
    timestamp_format(window.end_unix_ms, text);
    assert_string_equal(text, end);
}

#define EVERY_DAY "'days':['Mon','Tue','Wed','Thu','Fri','Sat','Sun']"
#define POLICY                                                                                     \
    "{'rules':[{'match':{'plan':'trial|free'},'windows':[{" EVERY_DAY                              \
    ",'begin':'01:00:00Z','end':'01:00:00Z'}]},"                                                   \
    "{'match':{'REGION':'europe|eu-|uksouth'},'windows':["                                         \
    "{'begin':'2024-12-08T20:00:00Z','end':'2024-12-09T00:00:00Z'},"                               \
    "{'begin':'2024-10-10T20:00:00Z','end':'2024-10-11T00:00:00Z'}]},"                             \
    "{'match':{'globalAccountId':'^x-','platformRegion':'mars'},'windows':[]}],"                   \
    "'default':{'days':['Sat'],'begin':'22:00:00+02:00','end':'02:00:00+02:00'}}"

static void the_first_matching_rule_counts(void **state)
{
    cleanup_maintenance struct maintenance_policy *policy = policy_of(POLICY);
    const struct maintenance_cluster trial = {.plan = "trial", .region = "eu-1"};
    const struct maintenance_cluster vikings = {.region = "uksouth-vikings", .plan = "azure_lite"};
    const struct maintenance_cluster other = {.region = "us-1"};

    (void)state;
    /* A window of 24 hours is under way; the next one begins when it ends. */
    check(policy, trial, "2024-10-03T05:05:00Z", 0, "2024-10-03T01:00:00Z", "2024-10-04T01:00:00Z");
    check(policy, trial, "2024-10-04T01:00:01Z", 0, "2024-10-04T01:00:00Z", "2024-10-05T01:00:00Z");
    check(policy, vikings, "2024-10-10T22:05:00Z", 20, "2024-10-10T20:00:00Z",
          "2024-10-11T00:00:00Z");
    /* Less than 20 minutes are left of it. */
    check(policy, vikings, "2024-10-10T23:41:00Z", 20, "2024-12-08T20:00:00Z",
          "2024-12-09T00:00:00Z");
    /* All its windows are over: the default. */
    check(policy, vikings, "2025-01-01T00:00:00Z", 20, "2025-01-04T20:00:00Z",
          "2025-01-05T00:00:00Z");
    check(policy, other, "2024-10-10T22:05:00Z", 20, "2024-10-12T20:00:00Z",
          "2024-10-13T00:00:00Z");
    check(policy, (struct maintenance_cluster){.global_account_id = "x-1"}, "2024-10-10T22:05:00Z",
          20, "2024-10-12T20:00:00Z", "2024-10-13T00:00:00Z");
}

/* The day is that of the zone of begin, also where it is another day in UTC. */
static void days_are_local(void **state)
{
    cleanup_maintenance struct maintenance_policy *east =
        policy_of("{'default':{'days':['Mon'],'begin':'00:30:00+05:30','end':'02:30:00+05:30'}}");
    cleanup_maintenance struct maintenance_policy *west =
        policy_of("{'default':{'days':['Mon'],'begin':'22:00:00-08:00','end':'01:00:00-08:00'}}");
    const struct maintenance_cluster any = {0};

    (void)state;
    /* 2026-11-16 is a Monday. */
    check(east, any, "2026-11-12T00:00:00Z", 0, "2026-11-15T19:00:00Z", "2026-11-15T21:00:00Z");
    check(west, any, "2026-11-12T00:00:00Z", 0, "2026-11-17T06:00:00Z", "2026-11-17T09:00:00Z");
    check(west, any, "2026-11-17T08:59:00Z", 0, "2026-11-17T06:00:00Z", "2026-11-17T09:00:00Z");
    check(west, any, "2026-11-17T09:01:00Z", 0, "2026-11-24T06:00:00Z", "2026-11-24T09:00:00Z");
}

static void a_policy_without_a_coming_window_says_so(void **state)
{
    cleanup_maintenance struct maintenance_policy *policy = policy_of("{'rules':[]}");
    const struct maintenance_cluster any = {0};
    struct maintenance_window window;
    struct error err = {0};

    (void)state;
    assert_int_equal(maintenance_find(policy, &any, 0, 0, &window, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {"[]", "expected an object, got a list"},
        {"{'rules':5}", "rules: expected a list"},
        {"{'rules':[{'match':{}}]}", "rules[0]: match: names nothing"},
        {"{'rules':[{'match':{'plan':'('}}]}", "rules[0]: match.plan: "},
        {"{'rules':[{'match':{'plan':''}}]}", "rules[0]: match.plan: expected a regular"},
        {"{'rules':[{'match':{'planet':'x'}}]}", "unknown key \"planet\""},
        {"{'rules':[{'match':{'plan':'a','PLAN':'b'}}]}", "match.PLAN: is given twice"},
        {"{'rules':[{'match':{'plan':'a'},'windows':[{'begin':'x','end':'y'}]}]}",
         "rules[0]: windows[0]: begin"},
        {"{'default':{'begin':'2024-10-10T20:00:00Z','end':'2024-10-10T20:00:00Z'}}",
         "default: end: is not after begin"},
        {"{'default':{'days':['Someday'],'begin':'01:00:00Z','end':'02:00:00Z'}}",
         "default: days[0]: \"Someday\" is not a day"},
        {"{'default':{'days':['Mon'],'begin':'1:00','end':'02:00:00Z'}}",
         "default: begin: \"1:00\" is not a time of day"},
        {"{'default':{'days':['Mon'],'begin':'01:00:00Z'}}", "default: end"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *doc = parse(rows[i].text);
        cleanup_free char *json = doc_dump(doc);
        cleanup_maintenance struct maintenance_policy *policy = NULL;
        struct error err = {0};

        print_message("%s\n", json);
        assert_int_equal(maintenance_parse(json, strlen(json), &policy, &err), -1);
        print_message("  %s\n", err.text);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, rows[i].expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_matching_rule_counts),
        cmocka_unit_test(days_are_local),
        cmocka_unit_test(a_policy_without_a_coming_window_says_so),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
