/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/manifest/late_root.h"
#include "deployer/tests/sample.h"

#define DONE "jobID: a, jobIDFinished: a"

static void a_job_is_triggered_only_after_one_that_succeeded(void **state)
{
    static const struct {
        const char *installation;
        enum late_verdict verdict;
    } rows[] = {
        {"{status: {phase: Succeeded, " DONE "}}", LATE_TRIGGERED},
        {"{status: {phase: Failed, " DONE "}}", LATE_INSTALLATION_FAILED},
        {"{status: {phase: DeleteFailed, " DONE "}}", LATE_INSTALLATION_FAILED},
        {"{status: {phase: Progressing, " DONE "}}", LATE_INSTALLATION_BUSY},
        {"{status: {phase: Succeeded, jobID: b, jobIDFinished: a}}", LATE_INSTALLATION_BUSY},
        {"{metadata: {deletionTimestamp: x}, status: {phase: Succeeded, " DONE "}}",
         LATE_INSTALLATION_BUSY},
        {"{metadata: {annotations: {" ANNOTATION_OPERATION
         ": reconcile}}, status: {phase: Succeeded, " DONE "}}",
         LATE_INSTALLATION_BUSY},
        {"{}", LATE_INSTALLATION_BUSY},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *installation = sample_doc(rows[i].installation);

        if (late_root_judge(installation) != rows[i].verdict)
            fail_msg("%s", rows[i].installation);
    }
}

static void the_owner_is_an_object_of_landscaper(void **state)
{
    cleanup_json json_t *item = sample_doc(
        "{metadata: {ownerReferences: [{apiVersion: v1, kind: Installation, name: other}, "
        "{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Execution, name: e}]}}");
    cleanup_json json_t *root = sample_doc("{kind: Installation, metadata: {name: root}}");

    (void)state;
    assert_string_equal(doc_text(late_root_owner(item), "name"), "e");
    assert_false(late_root_is_installation(item));
    assert_null(late_root_owner(root));
    assert_true(late_root_is_installation(root));
}

static void a_mark_shows_that_the_trigger_or_a_later_one_was_sent(void **state)
{
    struct late_memory memory = {.change = "abc", .triggered_unix_ms = 1000000};
    cleanup_free char *mark = late_root_mark(&memory, "uid");
    static const struct {
        const char *found;
        bool is_marked;
    } rows[] = {
        {"1970-01-01T00:16:40Z uid abc", true},    {"1970-01-01T00:16:40Z other abc", false},
        {"1970-01-01T00:16:41Z other def", true},  {"1970-01-01T00:16:39Z uid abc", false},
        {"1970-01-01T00:16:40Z uid later", false},
    };

    (void)state;
    assert_string_equal(mark, rows[0].found);
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *root = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                                              ANNOTATION_TRIGGERED_BY, rows[i].found);

        assert_int_equal(late_root_is_marked(root, mark), rows[i].is_marked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_triggered_only_after_one_that_succeeded),
        cmocka_unit_test(the_owner_is_an_object_of_landscaper),
        cmocka_unit_test(a_mark_shows_that_the_trigger_or_a_later_one_was_sent),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
