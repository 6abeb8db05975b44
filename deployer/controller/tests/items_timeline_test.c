/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/controller/items_timeline.h"

#define CONTAINER(begin_, end_, code_)                                                             \
    "{\"state\":{\"terminated\":{\"exitCode\":" #code_ ",\"startedAt\":\"2026-01-01T10:00:" begin_ \
    "Z\",\"finishedAt\":\"2026-01-01T10:00:" end_ "Z\"}}}"
#define POD_STATUS(code_)                                                                          \
    "\"providerStatus\":{\"podStatus\":{\"lastRun\":\"2026-01-01T10:00:03Z\","                     \
    "\"initContainerStatus\":" CONTAINER("05", "07", 0) ",\"containerStatus\":" CONTAINER(         \
        "08", "20", code_) ",\"waitContainerStatus\":" CONTAINER("08", "21", code_) "}}"
#define TIMES "\"triggerTime\":\"2026-01-01T10:00:00Z\",\"initTime\":\"2026-01-01T10:00:02Z\""
#define FINISHED ",\"finishedTime\":\"2026-01-01T10:00:25Z\""

static const struct {
    const char *type, *status;
    const char *steps; /* "name state seconds": from the trigger */
} cases[] = {
    {"landscaper.gardener.cloud/container", "{}", ""},
    {"landscaper.gardener.cloud/container",
     "{\"jobID\":\"a\",\"transitionTimes\":{\"triggerTime\":\"2026-01-01T10:00:00Z\"}}",
     "pick-up running 00-, scheduling pending -, init pending -, main pending -, wait pending -, "
     "export pending -, "},
    {"landscaper.gardener.cloud/container",
     "{\"jobID\":\"a\",\"jobIDFinished\":\"a\",\"phase\":\"Succeeded\",\"exportRef\":{\"name\":"
     "\"x\"},\"transitionTimes\":{" TIMES FINISHED "}," POD_STATUS(0) "}",
     "pick-up done 00-02, scheduling done 02-05, init done 05-07, main done 08-20, wait done "
     "08-21, export done 21-25, "},
    {"landscaper.gardener.cloud/container",
     "{\"jobID\":\"a\",\"jobIDFinished\":\"a\",\"phase\":\"Failed\",\"transitionTimes\":{" TIMES
         FINISHED "}," POD_STATUS(3) "}",
     "pick-up done 00-02, scheduling done 02-05, init done 05-07, main failed 08-20, wait failed "
     "08-21, export skipped -, "},
    {DEPLOY_ITEM_TYPE_MANIFEST,
     "{\"jobID\":\"a\",\"phase\":\"Progressing\",\"transitionTimes\":{" TIMES "}}",
     "pick-up done 00-02, apply running 02-, "},
    {DEPLOY_ITEM_TYPE_MANIFEST,
     "{\"jobID\":\"a\",\"jobIDFinished\":\"a\",\"phase\":\"Failed\",\"transitionTimes\":{" TIMES
         FINISHED "}}",
     "pick-up done 00-02, apply failed 02-25, "},
};

/* The seconds of "2026-01-01T10:00:05Z", or "". */
static const char *seconds_of(const json_t *step, const char *key, char ret_text[3])
{
    const char *time = doc_text(step, key);

    (void)snprintf(ret_text, 3, "%.2s", time ? time + strlen("2026-01-01T10:00:") : "");
    return ret_text;
}

static void each_step_has_its_state_and_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_view struct view view = {0};
        json_t *status = NULL, *item = NULL, *steps = NULL;
        struct error err = {0};
        char text[512] = "";

        assert_int_equal(
            doc_parse_json(cases[i].status, strlen(cases[i].status), 1 << 16, &status, &err), 0);
        item = json_pack("{s:{s:s},s:{s:s},s:o}", "metadata", "name", "item", "spec", "type",
                         cases[i].type, "status", status);
        view_init(&view, item, NULL, (int64_t)1767261660 * 1000);
        steps = items_timeline(item, &view);
        for (size_t k = 0; k < json_array_size(steps); k++) {
            const json_t *step = json_array_get(steps, k);
            char begin[3], end[3];

            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s %s-%s, ",
                           doc_text(step, "name"), doc_text(step, "state"),
                           seconds_of(step, "startedAt", begin),
                           seconds_of(step, "finishedAt", end));
        }
        assert_string_equal(text, cases[i].steps);
        json_decref(steps);
        json_decref(item);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_has_its_state_and_times),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
