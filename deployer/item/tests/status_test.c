/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/item/status.h"
#include "deployer/tests/sample.h"

enum { NOW = 1767776400 }; /* 2026-01-07T09:00:00Z */
#define AT(seconds_) (((int64_t)NOW + (seconds_)) * 1000)

static void the_first_error_becomes_first_and_last_error(void **state)
{
    cleanup_json json_t *status = json_object();
    const struct status_error error = {
        "DeployPod", "CreatePod", "no quota", {CODE_TIMEOUT, CODE_UNAUTHORIZED}};

    (void)state;
    assert_true(status_set_error(status, &error, AT(0)));
    assert_string_equal(doc_text(status, "lastError.operation"), "DeployPod");
    assert_string_equal(doc_text(status, "lastError.reason"), "CreatePod");
    assert_string_equal(doc_text(status, "lastError.message"), "no quota");
    assert_string_equal(doc_text(status, "lastError.lastTransitionTime"), "2026-01-07T09:00:00Z");
    assert_string_equal(doc_text(status, "lastError.lastUpdateTime"), "2026-01-07T09:00:00Z");
    assert_int_equal(json_array_size(doc_get(status, "lastError.codes")), 2);
    assert_true(
        json_equal(json_object_get(status, "firstError"), json_object_get(status, "lastError")));
    assert_int_equal(json_array_size(doc_get(status, "lastErrors")), 1);
}

static void repeating_an_error_changes_nothing(void **state)
{
    cleanup_json json_t *status = json_object();
    cleanup_json json_t *before = NULL;
    const struct status_error error = {"DeployPod", "CreatePod", "no quota", {NULL}};

    (void)state;
    assert_true(status_set_error(status, &error, AT(0)));
    before = json_deep_copy(status);
    assert_false(status_set_error(status, &error, AT(10)));
    assert_true(json_equal(before, status));
    assert_null(doc_get(status, "lastError.codes"));
}

#define QUOTA(used_) "exceeded quota: q, requested: pods=1, used: pods=" used_ ", limited: pods=100"

static const struct {
    const char *before, *after;
    bool is_news;
} tries[] = {
    {QUOTA("101"), QUOTA("102"), false},
    {QUOTA("99"), QUOTA("100"), false},
    {"0/3 nodes are free", "2/11 nodes are free", false},
    {"it took 1.5s", "it took 900ms", false},
    {"later at 2026-01-07T09:00:00Z", "later at 2026-01-08T10:00:00Z", false},
    {"used: pods=1", "used: cpu=1", true},
    {"used: 1", "used: none", true},
    {"secret \"s1\" is missing", "secret \"s2\" is missing",
     true}, /* digits in a name are not a number */
    {"pod \"a-1\" is there", "pod \"a-2\" is there", true},
    {"no quota", "no webhook", true},
    {"used: 1", "used: 1 of 2", true},
    {"", "1", true},
};

static void an_error_with_different_numbers_is_updated_but_not_new(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(tries); i++) {
        cleanup_json json_t *status = json_object();
        const struct status_error before = {"DeployPod", "CreatePod", tries[i].before, {NULL}};
        const struct status_error after = {"DeployPod", "CreatePod", tries[i].after, {NULL}};

        assert_true(status_set_error(status, &before, AT(0)));
        assert_int_equal(status_set_error(status, &after, AT(10)), tries[i].is_news);
        assert_string_equal(doc_text(status, "lastError.message"), tries[i].after);
        assert_string_equal(doc_text(status, "lastError.lastUpdateTime"), "2026-01-07T09:00:10Z");
        assert_string_equal(doc_text(status, "firstError.message"), tries[i].before);
        assert_int_equal(json_array_size(doc_get(status, "lastErrors")), tries[i].is_news ? 2 : 1);
        assert_string_equal(
            doc_text(json_array_get(doc_get(status, "lastErrors"), tries[i].is_news ? 1 : 0),
                     "message"),
            tries[i].after);
    }
}

static void another_reason_or_code_is_a_new_error(void **state)
{
    cleanup_json json_t *status = json_object();
    const struct status_error error = {"DeployPod", "CreatePod", "used: 1", {NULL}};
    const struct status_error coded = {"DeployPod", "CreatePod", "used: 2", {CODE_TIMEOUT}};
    const struct status_error other = {"DeployPod", "Other", "used: 2", {CODE_TIMEOUT}};

    (void)state;
    assert_true(status_set_error(status, &error, AT(0)));
    assert_true(status_set_error(status, &coded, AT(1)));
    assert_true(status_set_error(status, &other, AT(2)));
    assert_int_equal(json_array_size(doc_get(status, "lastErrors")), 3);
}

static void the_transition_time_moves_with_the_operation_only(void **state)
{
    cleanup_json json_t *status = json_object();
    const struct status_error first = {"DeployPod", "CreatePod", "a", {NULL}};
    const struct status_error second = {"DeployPod", "CreatePod", "b", {NULL}};
    const struct status_error third = {"Complete", "SyncExport", "b", {NULL}};

    (void)state;
    assert_true(status_set_error(status, &first, AT(0)));
    assert_true(status_set_error(status, &second, AT(10)));
    assert_string_equal(doc_text(status, "lastError.lastTransitionTime"), "2026-01-07T09:00:00Z");
    assert_string_equal(doc_text(status, "lastError.lastUpdateTime"), "2026-01-07T09:00:10Z");
    assert_true(status_set_error(status, &third, AT(20)));
    assert_string_equal(doc_text(status, "lastError.lastTransitionTime"), "2026-01-07T09:00:20Z");
    assert_string_equal(doc_text(status, "firstError.message"), "a");
    assert_int_equal(json_array_size(doc_get(status, "lastErrors")), 3);
}

static void five_errors_are_kept_and_the_newest_is_last(void **state)
{
    cleanup_json json_t *status = json_object();
    const json_t *list = NULL;

    (void)state;
    for (int i = 0; i < 8; i++) {
        cleanup_free char *message = xasprintf("message '%d'", i);
        const struct status_error error = {"DeployPod", "CreatePod", message, {NULL}};

        assert_true(status_set_error(status, &error, AT(i)));
    }
    list = doc_get(status, "lastErrors");
    assert_int_equal(json_array_size(list), 5);
    assert_string_equal(doc_text(json_array_get(list, 0), "message"), "message '3'");
    assert_string_equal(doc_text(json_array_get(list, 4), "message"), "message '7'");
    assert_string_equal(doc_text(status, "firstError.message"), "message '0'");
    status_clear_error(status);
    assert_null(doc_get(status, "lastError"));
    assert_non_null(doc_get(status, "firstError"));
    status_reset_errors(status);
    assert_int_equal(json_object_size(status), 0);
}

static void messages_are_bounded_and_valid(void **state)
{
    cleanup_json json_t *status = json_object();
    cleanup_free char *message = xmalloc(STATUS_MESSAGE_MAX + 100);
    struct status_error error = {"a", "b", message, {NULL}};

    (void)state;
    memset(message, 'x', STATUS_MESSAGE_MAX + 99);
    message[STATUS_MESSAGE_MAX + 99] = '\0';
    memcpy(message + STATUS_MESSAGE_MAX - 1, "\xc3\xa4", 2); /* across the limit */
    assert_true(status_set_error(status, &error, AT(0)));
    assert_int_equal(strlen(doc_text(status, "lastError.message")), STATUS_MESSAGE_MAX - 1);
    error.message = "bad \xff byte";
    assert_true(status_set_error(status, &error, AT(1)));
    assert_string_equal(doc_text(status, "lastError.message"), "bad \xef\xbf\xbd byte");
    assert_false(status_set_error(status, &error, AT(2)));
}

static void an_invalid_status_is_replaced(void **state)
{
    cleanup_json json_t *status = sample_doc("{lastError: 5, firstError: text, lastErrors: {}}");
    const struct status_error error = {"a", "b", "c", {NULL}};

    (void)state;
    assert_true(status_set_error(status, &error, AT(0)));
    assert_int_equal(json_array_size(doc_get(status, "lastErrors")), 1);
}

static void phases_are_classified_as_final_or_failed(void **state)
{
    static const struct {
        const char *phase;
        bool is_final, is_failed;
    } phases[] = {
        {"", false, false},           {"Init", false, false},      {"Progressing", false, false},
        {"InitDelete", false, false}, {"Deleting", false, false},  {"Succeeded", true, false},
        {"Failed", true, true},       {"DeleteFailed", true, true}};

    (void)state;
    for (size_t i = 0; i < array_length(phases); i++) {
        assert_int_equal(status_is_final(phases[i].phase), phases[i].is_final);
        assert_int_equal(status_is_failed(phases[i].phase), phases[i].is_failed);
    }
    assert_string_equal(status_failed_phase(true), "DeleteFailed");
    assert_string_equal(status_failed_phase(false), "Failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_becomes_first_and_last_error),
        cmocka_unit_test(repeating_an_error_changes_nothing),
        cmocka_unit_test(an_error_with_different_numbers_is_updated_but_not_new),
        cmocka_unit_test(another_reason_or_code_is_a_new_error),
        cmocka_unit_test(the_transition_time_moves_with_the_operation_only),
        cmocka_unit_test(five_errors_are_kept_and_the_newest_is_last),
        cmocka_unit_test(messages_are_bounded_and_valid),
        cmocka_unit_test(an_invalid_status_is_replaced),
        cmocka_unit_test(phases_are_classified_as_final_or_failed),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
