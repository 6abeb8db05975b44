/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/pod/ending.h"

static json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;

    if (doc_parse_json(text, strlen(text), 1 << 20, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

#define WITH_GRACE(seconds_, containers_)                                                          \
    "{\"spec\":{\"terminationGracePeriodSeconds\":" seconds_                                       \
    "},\"status\":{\"containerStatuses\":[" containers_ "]}}"
#define RUNS(name_) "{\"name\":\"" name_ "\",\"state\":{\"running\":{}}}"
#define ENDED(name_) "{\"name\":\"" name_ "\",\"state\":{\"terminated\":{}}}"

#define POD(annotation_, more_, main_, wait_)                                                      \
    "{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"" ANNOTATION_END "\":\"" annotation_          \
    "\"}" more_ "},\"spec\":{\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":630},"           \
    "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[" main_ "," wait_ "]}}"
#define WAITS(name_) "{\"name\":\"" name_ "\",\"state\":{\"waiting\":{}}}"
#define DELETED ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

/* A main that ignores SIGTERM runs for all of this time. */
static void a_pod_is_ended_in_the_time_of_main_and_that_of_saving_its_state(void **state)
{
    static const struct {
        const char *pod;
        size_t chunks;
        int64_t seconds;
    } cases[] = {
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 0, 38},
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 1, 38},
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 2, 40},
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 20, 76},
        {WITH_GRACE("601", RUNS("main") "," RUNS("wait")), 0, 9},
        {WITH_GRACE("661", RUNS("main") "," RUNS("wait")), 0, 77},
        {WITH_GRACE("720", RUNS("main") "," RUNS("wait")), 2, 152},
        {WITH_GRACE("900", RUNS("main") "," RUNS("wait")), 0, 360},
        /* A state that needs all the time there is, or of unknown size. */
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 297, -1},
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), 296, 628},
        {WITH_GRACE("630", RUNS("main") "," RUNS("wait")), SIZE_MAX, -1},
        /* Nothing is left to be saved. */
        {WITH_GRACE("630", RUNS("main") "," ENDED("wait")), SIZE_MAX, 30},
        /* An older wait saves what main has left. */
        {WITH_GRACE("630", ENDED("main") "," RUNS("wait")), 0, -1},
        /* wait was waited for, and has made no progress. */
        {POD(END_REQUESTED, "", ENDED("main"), RUNS("wait")), 0, 38},
        {WITH_GRACE("630", ENDED("main") "," ENDED("wait")), 0, 0},
        /* Of the Go deployer. */
        {WITH_GRACE("30", RUNS("main") "," RUNS("wait")), 0, -1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = parse(cases[i].pod);

        assert_int_equal(pod_end_seconds(pod, cases[i].chunks), cases[i].seconds);
    }
}

#define REPORT(done_, chunks_, stored_, ms_)                                                       \
    {                                                                                              \
        .is_there = true, .is_done = (done_), .chunks = (chunks_), .stored = (stored_),            \
        .duration_ms = (ms_), .version = 1                                                         \
    }

static void after_a_snapshot_the_pod_gets_the_time_to_save_the_state_once_more(void **state)
{
    static const char runs[] = WITH_GRACE("630", RUNS("main") "," RUNS("wait"));
    static const struct {
        const char *pod;
        struct save_report report;
        int64_t seconds;
    } cases[] = {
        {runs, REPORT(true, 1, 1, 200), 38},
        {runs, REPORT(true, 1, 1, 4000), 38},
        /* Twice the measured time, however long that is. */
        {runs, REPORT(true, 100, 100, 30000), 90},
        {runs, REPORT(true, 100, 100, 30001), 91},
        {runs, REPORT(true, 4000, 4000, 3600000), 7230},
        /* It was not stored: unchanged, or main has changed it. The upload was not measured. */
        {runs, REPORT(true, 5, 0, 10), 46},
        {runs, REPORT(true, 1000, 0, 40000), 2036},
        {runs, REPORT(true, 5, 0, 60000), 150},
        {runs, REPORT(true, 0, 0, 10), 38},
        {WITH_GRACE("630", RUNS("main") "," ENDED("wait")), REPORT(true, 9, 9, 90000), 30},
        {WITH_GRACE("630", ENDED("main") "," ENDED("wait")), REPORT(true, 9, 9, 90000), 0},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = parse(cases[i].pod);

        assert_int_equal(pod_end_seconds_after(pod, &cases[i].report), cases[i].seconds);
    }
}

static void a_snapshot_is_requested_only_of_a_pod_that_can_save_one(void **state)
{
    static const struct {
        const char *pod;
        enum pod_ending_step step;
    } cases[] = {
        {POD(END_ON_REQUEST, "", RUNS("main"), RUNS("wait")), POD_ENDING_REQUEST},
        {POD(END_ON_REQUEST, "", ENDED("main"), RUNS("wait")), POD_ENDING_REQUEST},
        {POD(END_REQUESTED, "", RUNS("main"), RUNS("wait")), POD_ENDING_WAIT},
        {POD(END_REQUESTED, "", ENDED("main"), RUNS("wait")), POD_ENDING_WAIT},
        /* The image of wait is still being pulled. */
        {POD(END_ON_REQUEST, "", RUNS("main"), WAITS("wait")), POD_ENDING_REQUEST},
        {POD(END_ON_REQUEST, "", ENDED("main"), WAITS("wait")), POD_ENDING_REQUEST},
        /* Nothing to save, or nobody to save it. */
        {POD(END_ON_REQUEST, "", WAITS("main"), RUNS("wait")), POD_ENDING_DELETE},
        {POD(END_ON_REQUEST, "", WAITS("main"), WAITS("wait")), POD_ENDING_DELETE},
        {POD(END_ON_REQUEST, "", RUNS("main"), ENDED("wait")), POD_ENDING_DELETE},
        {POD(END_REQUESTED, "", RUNS("main"), ENDED("wait")), POD_ENDING_DELETE},
        /* Somebody else has deleted it. */
        {POD(END_REQUESTED, DELETED, RUNS("main"), RUNS("wait")), POD_ENDING_DELETE},
        /* An older wait, that of the Go deployer, a pod without a node. */
        {"{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"containerStatuses\":[" RUNS("main") "," RUNS(
             "wait") "]}}",
         POD_ENDING_DELETE},
        {"{\"metadata\":{\"annotations\":{\"" ANNOTATION_END "\":\"" END_ON_REQUEST "\"}}}",
         POD_ENDING_DELETE},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *pod = parse(cases[i].pod);
        struct save_report none = {0};
        struct pod_ending ending = {0};

        assert_int_equal(pod_ending_next(pod, &none, 1000, &ending), cases[i].step);
    }
}

/* Asks every second or as pod_ending wants, until the answer is something else than to wait.
 * version 0: there is no report; else that of the report, which changes every_ms (0: never). */
static int64_t wait_for_end(const char *text, uint64_t version, int64_t every_ms, int64_t limit_ms)
{
    cleanup_json json_t *pod = parse(text);
    struct pod_ending ending = {0};
    int64_t now = 1000000;

    pod_ending_start(now, &ending);
    while (now - 1000000 < limit_ms) {
        struct save_report report = {.is_there = version != 0, .version = version};

        if (version && every_ms)
            report.version += (uint64_t)((now - 1000000) / every_ms);
        if (pod_ending_next(pod, &report, now, &ending) != POD_ENDING_WAIT)
            break;
        assert_true(ending.look_unix_ms > now);
        now = ending.look_unix_ms;
    }
    return (now - 1000000) / 1000;
}

static void the_pod_is_deleted_when_wait_makes_no_progress(void **state)
{
    static const char runs[] = POD(END_REQUESTED, "", RUNS("main"), RUNS("wait"));
    static const char saves[] = POD(END_REQUESTED, "", ENDED("main"), RUNS("wait"));
    static const char starts[] = POD(END_REQUESTED, "", RUNS("main"), WAITS("wait"));
    static const char starts_late[] = POD(END_REQUESTED, "", ENDED("main"), WAITS("wait"));
    static const int64_t day_ms = 24LL * 3600 * 1000;

    (void)state;
    assert_int_equal(wait_for_end(runs, 0, 0, day_ms), 10);   /* an older wait */
    assert_int_equal(wait_for_end(starts, 0, 0, day_ms), 10); /* its image is not there */
    assert_int_equal(wait_for_end(starts_late, 0, 0, day_ms), 10);
    assert_in_range(wait_for_end(runs, 1, 0, day_ms), 300, 305);  /* it hangs */
    assert_in_range(wait_for_end(saves, 0, 0, day_ms), 300, 305); /* at the end of a run too */
    assert_in_range(wait_for_end(runs, 1, 290000, day_ms), 86400, 86405); /* slow, but it goes on */
    assert_in_range(wait_for_end(saves, 1, 290000, day_ms), 86400, 86405);
}

static void a_report_ends_the_wait_unless_main_has_ended_since(void **state)
{
    cleanup_json json_t *runs = parse(POD(END_REQUESTED, "", RUNS("main"), RUNS("wait")));
    cleanup_json json_t *saves = parse(POD(END_REQUESTED, "", ENDED("main"), RUNS("wait")));
    struct save_report done = REPORT(true, 1, 1, 10);
    struct pod_ending ending = {0};

    (void)state;
    assert_int_equal(pod_ending_next(runs, &done, 1000, &ending), POD_ENDING_DELETE);
    /* wait saves the final state, and exits then. */
    assert_int_equal(pod_ending_next(saves, &done, 1000, &ending), POD_ENDING_WAIT);
}

static void time_without_an_answer_of_the_api_server_does_not_count(void **state)
{
    cleanup_json json_t *pod = parse(POD(END_REQUESTED, "", RUNS("main"), RUNS("wait")));
    struct save_report none = {0};
    struct pod_ending ending = {0};

    (void)state;
    pod_ending_start(1000, &ending);
    ending = (struct pod_ending){0}; /* an error; the next attempt is made much later */
    assert_int_equal(pod_ending_next(pod, &none, 100000, &ending), POD_ENDING_WAIT);
    assert_int_equal(pod_ending_next(pod, &none, 109999, &ending), POD_ENDING_WAIT);
    assert_int_equal(pod_ending_next(pod, &none, 110000, &ending), POD_ENDING_DELETE);
}

#define SECRET(uid_, snapshot_, chunks_)                                                           \
    "{\"metadata\":{\"resourceVersion\":\"77\",\"annotations\":{\"" ANNOTATION_POD_UID             \
    "\":\"" uid_ "\",\"" ANNOTATION_SNAPSHOT "\":\"" snapshot_ "\",\"" ANNOTATION_STATE_CHUNKS     \
    "\":\"" chunks_ "\",\"" ANNOTATION_CHUNKS_STORED "\":\"2\",\"" ANNOTATION_MILLISECONDS         \
    "\":\"1500\"}}}"

static void a_report_is_read_only_from_the_pod_s_own_wait(void **state)
{
    static const struct {
        const char *secret;
        struct save_report report;
    } cases[] = {
        {SECRET("u", SNAPSHOT_SAVED, "3"), {true, true, 3, 2, 1500, 77}},
        {SECRET("u", SNAPSHOT_SAVING, "3"), {true, false, 3, 2, 1500, 77}},
        {SECRET("u", SNAPSHOT_SAVED, "-3"), {true, true, 0, 2, 1500, 77}},
        {SECRET("u", SNAPSHOT_SAVED, "99999999999999999999"), {true, true, 0, 2, 1500, 77}},
        {SECRET("other", SNAPSHOT_SAVED, "3"), {0}},
        {"{\"metadata\":{\"annotations\":{\"" ANNOTATION_POD_UID "\":\"u\"}}}", {0}},
        {"{}", {0}},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *secret = parse(cases[i].secret);
        struct save_report report = save_report_read(secret, "u");

        assert_int_equal(report.is_there, cases[i].report.is_there);
        assert_int_equal(report.is_done, cases[i].report.is_done);
        assert_int_equal(report.chunks, cases[i].report.chunks);
        assert_int_equal(report.stored, cases[i].report.stored);
        assert_int_equal(report.duration_ms, cases[i].report.duration_ms);
        assert_int_equal(report.version, cases[i].report.version);
    }
    assert_false(save_report_read(NULL, "u").is_there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_ended_in_the_time_of_main_and_that_of_saving_its_state),
        cmocka_unit_test(after_a_snapshot_the_pod_gets_the_time_to_save_the_state_once_more),
        cmocka_unit_test(a_snapshot_is_requested_only_of_a_pod_that_can_save_one),
        cmocka_unit_test(the_pod_is_deleted_when_wait_makes_no_progress),
        cmocka_unit_test(a_report_ends_the_wait_unless_main_has_ended_since),
        cmocka_unit_test(time_without_an_answer_of_the_api_server_does_not_count),
        cmocka_unit_test(a_report_is_read_only_from_the_pod_s_own_wait),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
