/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about pods, and which pods and inputs are garbage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/engine.h"
#include "deployer/pod/gc_judge.h"
#include "deployer/pod/objects.h"

static json_t *parse(const char *text)
{
    json_t *doc = NULL;
    struct error err = {0};

    if (doc_parse_json(text, strlen(text), 1 << 20, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

static void a_pod_is_over_when_nothing_in_it_can_run(void **state)
{
    static const struct {
        const char *pod;
        bool is_over;
    } cases[] = {
        {"{\"status\":{\"phase\":\"Succeeded\"}}", true},
        {"{\"status\":{\"phase\":\"Failed\"}}", true},
        {"{\"status\":{\"phase\":\"Running\"}}", false},
        {"{\"status\":{\"phase\":\"Pending\"}}", false},
        {"{}", false},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Pending\"}}", true},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":300},"
         "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}",
         false},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":0},"
         "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}",
         true},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = parse(cases[i].pod);

        assert_int_equal(pod_is_over(pod), cases[i].is_over);
    }
}

static void a_pod_has_stopped_when_all_its_containers_have(void **state)
{
    static const char ended[] = "{\"state\":{\"terminated\":{\"exitCode\":1}}}";
    static const struct {
        const char *first, *second;
        bool has_stopped;
    } cases[] = {
        {ended, ended, true},
        {ended, "{\"state\":{\"running\":{}}}", false},
        {"{\"state\":{\"waiting\":{}}}", ended, false},
        {ended, "{}", false},
        {ended, NULL, false},
        {NULL, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text =
            xasprintf("{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[%s%s%s]}}",
                      cases[i].first ? cases[i].first : "", cases[i].second ? "," : "",
                      cases[i].second ? cases[i].second : "");
        cleanup_json json_t *pod = parse(text);

        assert_int_equal(pod_has_stopped(pod), cases[i].has_stopped);
    }
}

static void a_pod_is_deleted_again_only_once_its_containers_have_ended(void **state)
{
    static const char ended[] = "{\"state\":{\"terminated\":{\"exitCode\":1}}}";
    static const char running[] = "{\"state\":{\"running\":{}}}";
    static const char deleted[] = "\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":38";
    static const char released[] = "\"deletionTimestamp\":\"x\",\"deletionGracePeriodSeconds\":0";
    static const struct {
        const char *metadata, *main;
        bool can_be_deleted;
    } cases[] = {
        {"", running, true},    {"", ended, true},        {deleted, running, false},
        {deleted, ended, true}, {released, ended, false}, {released, running, false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text =
            xasprintf("{\"metadata\":{%s},\"status\":{\"containerStatuses\":[%s,%s]}}",
                      cases[i].metadata, cases[i].main, ended);
        cleanup_json json_t *pod = parse(text);

        assert_int_equal(pod_can_be_deleted(pod), cases[i].can_be_deleted);
    }
}

#define FINALIZED "\"finalizers\":[\"" FINALIZER_POD "\"]"
#define OLD_POD                                                                                    \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-01T00:00:00Z\"," FINALIZED                     \
    "},\"status\":{\"phase\":\"Succeeded\"}}"
#define NEW_POD                                                                                    \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-02T00:00:00Z\"," FINALIZED                     \
    "},\"status\":{\"phase\":\"Succeeded\"}}"
#define BARE_POD                                                                                   \
    "{\"metadata\":{\"creationTimestamp\":\"2026-01-03T00:00:00Z\"},"                              \
    "\"status\":{\"phase\":\"Succeeded\"}}"
#define HELD_POD                                                                                   \
    "{\"metadata\":{\"deletionTimestamp\":\"2026-01-03T00:00:00Z\",\"finalizers\":[\"theirs\"]},"  \
    "\"status\":{\"phase\":\"Succeeded\"}}"
#define RUNNING_POD "{\"metadata\":{" FINALIZED "},\"status\":{\"phase\":\"Running\"}}"

static void pods_are_garbage_if_no_controller_needs_them_any_more(void **state)
{
    static const struct {
        const char *name, *pod, *other; /* other is a second pod of the item, or NULL */
        bool is_known, is_finished, is_ours, is_kept;
        enum gc_pod verdict;
    } cases[] = {
        {"GC8 older of two", OLD_POD, NEW_POD, true, true, true, false, GC_POD_REMOVE},
        {"GC8 newer of two", NEW_POD, OLD_POD, true, true, true, false, GC_POD_KEEP},
        {"GC10 the only one", OLD_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"GC12 the latest", NEW_POD, OLD_POD, true, true, true, false, GC_POD_KEEP},
        {"GC13 no finalizer", BARE_POD, NULL, true, true, true, false, GC_POD_REMOVE},
        {"held by another's finalizer", HELD_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"keepPod", BARE_POD, NULL, true, true, true, true, GC_POD_KEEP},
        {"running", RUNNING_POD, NULL, true, true, true, false, GC_POD_KEEP},
        {"item has work", OLD_POD, NEW_POD, true, false, true, false, GC_POD_KEEP},
        {"item unknown", OLD_POD, NULL, false, false, true, false, GC_POD_ASK},
        {"item unknown, runs", RUNNING_POD, NULL, false, false, true, false, GC_POD_ASK},
        {"owner unknown", OLD_POD, NULL, false, false, false, false, GC_POD_KEEP},
        {"owner unknown, runs", RUNNING_POD, NULL, false, false, false, false, GC_POD_KEEP},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        struct engine engine = {.class = &POD_ENGINE};
        struct engine *const engines[] = {&engine};
        struct index *index = index_new(engines);
        struct record *record = index_add(index, "n", "x");
        struct pod_entry *entry = record_add_pod(record, "one");
        enum gc_pod verdict = GC_POD_KEEP;

        entry->pod = parse(cases[i].pod);
        if (cases[i].other)
            record_add_pod(record, "two")->pod = parse(cases[i].other);
        record->is_known = cases[i].is_known;
        record->is_finished = cases[i].is_finished;
        verdict = gc_judge_pod(record, entry, cases[i].is_ours, cases[i].is_kept);
        if (verdict != cases[i].verdict)
            fail_msg("%s: %d", cases[i].name, verdict);
        index_free(index);
    }
}

static void inputs_are_garbage_if_their_item_has_nothing_to_run(void **state)
{
    cleanup_json json_t *input = parse(
        "{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:10Z\",\"labels\":{\"" LABEL_ROLE
        "\":\"" LABEL_ROLE_RUN "\"}}}");
    cleanup_json json_t *other =
        parse("{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:10Z\"}}");
    struct engine engine = {.class = &POD_ENGINE};
    struct engine *const engines[] = {&engine};
    struct index *index = index_new(engines);
    struct record *record = index_add(index, "n", "x");

    (void)state;
    record->is_known = record->is_finished = true;
    assert_true(gc_is_old_input(input, record, 11000));
    assert_false(gc_is_old_input(input, record, 9000));
    assert_false(gc_is_old_input(other, record, 11000));
    record->is_finished = false;
    assert_false(gc_is_old_input(input, record, 11000));
    record->is_finished = true;
    record_add_pod(record, "p")->pod = json_object();
    assert_false(gc_is_old_input(input, record, 11000));
    index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_over_when_nothing_in_it_can_run),
        cmocka_unit_test(a_pod_has_stopped_when_all_its_containers_have),
        cmocka_unit_test(a_pod_is_deleted_again_only_once_its_containers_have_ended),
        cmocka_unit_test(pods_are_garbage_if_no_controller_needs_them_any_more),
        cmocka_unit_test(inputs_are_garbage_if_their_item_has_nothing_to_run),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
