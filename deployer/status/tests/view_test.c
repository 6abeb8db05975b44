/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/data/timestamp.h"
#include "deployer/status/view.h"
#include "deployer/tests/sample.h"

#define NOW "2026-01-07T09:10:00Z"
#define ITEM_HEAD                                                                                  \
    "metadata: {name: job, namespace: team, creationTimestamp: '2026-01-06T09:10:00Z'}\n"          \
    "spec: {type: landscaper.gardener.cloud/container}\n"
#define POD_HEAD                                                                                   \
    "metadata: {name: p, namespace: host, creationTimestamp: '2026-01-07T09:00:03Z', "             \
    "annotations: {longshore.container.deployer.landscaper.gardener.cloud/job: j}}\n"
#define BEGUN                                                                                      \
    "transitionTimes: {triggerTime: '2026-01-07T09:00:00Z', initTime: '2026-01-07T09:00:02Z'}"
#define TIMES "startedAt: '2026-01-07T09:00:05Z', finishedAt: '2026-01-07T09:00:35Z'"
#define COMPLETED "{terminated: {exitCode: 0, reason: Completed, " TIMES "}}"
#define EXIT_3 "{terminated: {exitCode: 3, reason: Error, " TIMES "}}"
#define EXIT_1 "{terminated: {exitCode: 1, reason: Error, " TIMES "}}"

/* One letter per step: pending, running, done, failed, skipped. */
static const struct {
    const char *name, *status, *pod; /* pod NULL: none */
    const char *steps, *waiting, *reason, *cause;
    int64_t duration_s; /* -1: not begun */
} cases[] = {
    {"never triggered", "{}", NULL, "ppppppp", "Landscaper, which has not triggered a job", "",
     NULL, -1},
    {"not picked up", "{jobID: j, transitionTimes: {triggerTime: '2026-01-07T09:09:30Z'}}", NULL,
     "dpppppp", "a deployer that picks up the job (triggered 30s ago)", "", NULL, -1},
    {"not picked up for long",
     "{jobID: j, jobIDFinished: i, phase: Succeeded, jobIDGenerationTime: '2026-01-07T09:07:00Z', "
     "transitionTimes: {initTime: '2026-01-05T09:00:00Z'}, providerStatus: {podStatus: {lastRun: "
     "'2026-01-05T09:00:00Z', containerStatus: {exitCode: 0}}}}",
     NULL, "dpppppp", "a deployer that picks up the job (triggered 3m ago)", "NotPickedUp",
     "no deployer has begun the job: none is running, none serves the type of the item, or its "
     "targetSelector does not match the Target",
     -1},
    {"waits for an earlier pod",
     "{jobID: j, phase: Init, " BEGUN ", lastError: {operation: DeployPod, reason: "
     "PreviousPodRuns, message: pod \"x\" has not ended}}",
     NULL, "ddppppp", "the end of an earlier job's pod", "PreviousPodRuns",
     "the pod of an earlier job has not ended; two jobs of an item never run at the same time",
     598},
    {"a missing input",
     "{jobID: j, phase: Init, " BEGUN ", lastError: {operation: reconcile, reason: "
     "GetLandscaperContext, message: contexts \"x\" not found}}",
     NULL, "ddppppp", "a solution for GetLandscaperContext", "GetLandscaperContext",
     "the Context of the item does not exist", 598},
    {"no pod yet", "{jobID: j, phase: Init, " BEGUN "}", NULL, "ddppppp", "the creation of the pod",
     "", NULL, 598},
    {"unscheduled", "{jobID: j, phase: Progressing, " BEGUN "}",
     POD_HEAD "status: {conditions: [{type: PodScheduled, status: 'False', reason: "
              "Unschedulable}]}\n",
     "ddrpppp", "a node for the pod (for 9m57s)", "", NULL, 598},
    {"init is running", "{jobID: j, phase: Progressing, " BEGUN "}",
     POD_HEAD "spec: {nodeName: n1}\n"
              "status: {initContainerStatuses: [{name: init, state: {running: {startedAt: "
              "'2026-01-07T09:09:55Z'}}}]}\n",
     "dddrppp", "init, which writes the inputs (for 5s)", "", NULL, 598},
    {"main is starting", "{jobID: j, phase: Progressing, " BEGUN "}",
     POD_HEAD "spec: {nodeName: n1}\n"
              "status: {initContainerStatuses: [{name: init, state: " COMPLETED
              "}], containerStatuses: [{name: main, state: {waiting: {reason: "
              "ContainerCreating}}}]}\n",
     "ddddppp", "the start of container main (ContainerCreating)", "", NULL, 598},
    {"main is running", "{jobID: j, phase: Progressing, " BEGUN "}",
     POD_HEAD "spec: {nodeName: n1}\n"
              "status: {initContainerStatuses: [{name: init, state: " COMPLETED
              "}], containerStatuses: [{name: main, state: {running: {startedAt: "
              "'2026-01-07T09:00:40Z'}}}, {name: wait, state: {running: {}}}]}\n",
     "ddddrrp", "main (for 9m20s)", "", NULL, 598},
    {"wait is saving", "{jobID: j, phase: Progressing, " BEGUN "}",
     POD_HEAD "spec: {nodeName: n1}\n"
              "status: {initContainerStatuses: [{name: init, state: " COMPLETED
              "}], containerStatuses: [{name: main, state: " COMPLETED "}, {name: "
              "wait, "
              "state: "
              "{running: "
              "{startedAt"
              ": "
              "'2026-01-"
              "07T09:09:"
              "00Z'}}}]}"
              "\n",
     "dddddrp", "wait, which saves state and exports (for 1m)", "", NULL, 598},
    {"only the status is known",
     "{jobID: j, phase: Progressing, " BEGUN ", providerStatus: {podStatus: {lastRun: "
     "'2026-01-07T09:00:03Z', initContainerStatus: {state: " COMPLETED
     "}, containerStatus: {state: {running: {startedAt: "
     "'2026-01-07T09:09:58Z'}}}}}}",
     NULL, "ddddrpp", "main (for 2s)", "", NULL, 598},
    {"the pod of another job is ignored", "{jobID: k, phase: Init, " BEGUN "}",
     POD_HEAD "spec: {nodeName: n1}\n", "ddppppp", "the creation of the pod", "", NULL, 598},
    {"succeeded",
     "{jobID: j, jobIDFinished: j, phase: Succeeded, exportRef: {name: e}, transitionTimes: "
     "{triggerTime: '2026-01-07T09:00:00Z', initTime: '2026-01-07T09:00:02Z', finishedTime: "
     "'2026-01-07T09:00:42Z'}, providerStatus: {podStatus: {lastRun: '2026-01-07T09:00:03Z', "
     "initContainerStatus: {state: " COMPLETED "}, containerStatus: {state: " COMPLETED
     "}, waitContainerStatus: {state: " COMPLETED "}}}}",
     NULL, "ddddddd", NULL, "", NULL, 40},
    {"succeeded by the Go deployer, without exports",
     "{jobID: j, jobIDFinished: j, phase: Succeeded, transitionTimes: {initTime: "
     "'2026-01-07T09:00:02Z', finishedTime: '2026-01-07T09:00:42Z'}, providerStatus: {podStatus: "
     "{lastRun: '2026-01-07T09:00:03Z', initContainerStatus: {state: {}, exitCode: 0}, "
     "containerStatus: {state: {}, exitCode: 0}, waitContainerStatus: {state: {}, exitCode: 0}}}}",
     NULL, "dddddds", NULL, "", NULL, 40},
    {"main failed",
     "{jobID: j, jobIDFinished: j, phase: Failed, exportRef: {name: old}, transitionTimes: "
     "{initTime: '2026-01-07T09:00:02Z', finishedTime: '2026-01-07T09:00:42Z'}, lastError: "
     "{operation: RunMainContainer, reason: Error, message: \"container main: Error, exit code 3\\n"
     "the log\"}, providerStatus: {podStatus: {lastRun: '2026-01-07T09:00:03Z', mainLogTail: the "
     "log, initContainerStatus: {state: " COMPLETED "}, containerStatus: {state: " EXIT_3
     "}, waitContainerStatus: "
     "{state: " EXIT_1 "}}}"
     "}",
     NULL, "ddddffs", NULL, "Error", "the program of the item failed", 40},
    {"no deployer knew the type",
     "{jobID: j, jobIDFinished: j, phase: Failed, transitionTimes: {triggerTime: "
     "'2026-01-07T09:00:00Z'}, lastError: {operation: WaitingForPickup, reason: PickupTimeout, "
     "message: no deployer}}",
     NULL, "dssssss", NULL, "PickupTimeout",
     "Landscaper gave up because no deployer began the job within five minutes", -1},
};

static int64_t unix_ms_of(const char *text)
{
    struct error err = {0};
    int64_t unix_ms = 0;

    assert_int_equal(timestamp_parse(text, &unix_ms, &err), 0);
    return unix_ms;
}

static void make_view(const char *status, const char *pod_yaml, struct view *ret_view)
{
    cleanup_free char *yaml = xasprintf(ITEM_HEAD "status: %s\n", status);
    cleanup_json json_t *item = sample_doc(yaml);
    cleanup_json json_t *pod = pod_yaml ? sample_doc(pod_yaml) : NULL;

    view_init(ret_view, item, pod, unix_ms_of(NOW));
}

static void the_timeline_shows_where_a_job_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_view struct view view = {0};
        char steps[STEP_COUNT + 1] = "";
        int64_t duration_ms = 0;

        make_view(cases[i].status, cases[i].pod, &view);
        for (size_t step = 0; step < STEP_COUNT; step++)
            steps[step] = step_state_name(view.steps[step].state)[0];
        duration_ms = view_duration_ms(&view, unix_ms_of(NOW));
        if (strcmp(steps, cases[i].steps) != 0 ||
            strcmp(view.waiting_for ? view.waiting_for : "",
                   cases[i].waiting ? cases[i].waiting : "") != 0 ||
            strcmp(view.reason, cases[i].reason) != 0 ||
            strcmp(view.hint ? view.hint->cause : "", cases[i].cause ? cases[i].cause : "") != 0 ||
            duration_ms != (cases[i].duration_s < 0 ? -1 : cases[i].duration_s * 1000))
            fail_msg("%s: %s, waits for %s, reason %s, cause %s, %lld ms", cases[i].name, steps,
                     view.waiting_for ? view.waiting_for : "-", view.reason,
                     view.hint ? view.hint->cause : "-", (long long)duration_ms);
    }
}

static void details_and_times_are_those_of_the_containers(void **state)
{
    cleanup_view struct view view = {0};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        if (strcmp(cases[i].name, "main failed") == 0)
            make_view(cases[i].status, NULL, &view);
    }
    assert_string_equal(view.type, "container");
    assert_string_equal(view.steps[STEP_MAIN].detail, "exit code 3");
    assert_string_equal(view.steps[STEP_EXPORTED].detail, "the run failed");
    assert_int_equal(view.steps[STEP_MAIN].finished_unix_ms - view.steps[STEP_MAIN].started_unix_ms,
                     30000);
    /* The log is shown once, not as a part of the message. */
    assert_string_equal(view.message, "container main: Error, exit code 3");
    assert_string_equal(view.log_tail, "the log");
    assert_true(view.is_failed);
}

static void json_has_everything_that_the_text_has(void **state)
{
    cleanup_view struct view view = {0};
    cleanup_json json_t *doc = NULL;

    (void)state;
    make_view("{jobID: j, phase: Init, " BEGUN ", lastError: {operation: reconcile, reason: "
              "NoTargetFound, message: m}}",
              NULL, &view);
    doc = view_json(&view, unix_ms_of(NOW));
    assert_string_equal(doc_text(doc, "namespace"), "team");
    assert_string_equal(doc_text(doc, "phase"), "Init");
    assert_string_equal(doc_text(doc, "createdAt"), "2026-01-06T09:10:00Z");
    assert_string_equal(doc_text(doc, "startedAt"), "2026-01-07T09:00:02Z");
    assert_null(doc_text(doc, "finishedAt"));
    assert_int_equal(doc_integer_or(doc, "durationSeconds", 0), 598);
    assert_string_equal(doc_text(doc, "reason"), "NoTargetFound");
    assert_non_null(doc_text(doc, "hint.solution"));
    assert_non_null(doc_text(doc, "waitingFor"));
    assert_int_equal(json_array_size(doc_get(doc, "timeline")), STEP_COUNT);
    assert_false(json_is_true(doc_get(doc, "isFinished")));
}

static void any_document_can_be_viewed(void **state)
{
    static const char *const documents[] = {
        "{}", "{metadata: 5, spec: [], status: x}",
        "{status: {jobID: 5, phase: {}, lastError: [], transitionTimes: {initTime: never}}}",
        "{status: {jobID: a, phase: '', providerStatus: {podStatus: 5}}}"};

    (void)state;
    for (size_t i = 0; i < array_length(documents); i++) {
        cleanup_json json_t *item = sample_doc(documents[i]);
        cleanup_view struct view view = {0}, with_pod = {0};

        view_init(&view, item, NULL, 0);
        view_init(&with_pod, item, item, 0);
        assert_non_null(view.waiting_for);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_timeline_shows_where_a_job_is),
        cmocka_unit_test(details_and_times_are_those_of_the_containers),
        cmocka_unit_test(json_has_everything_that_the_text_has),
        cmocka_unit_test(any_document_can_be_viewed),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
