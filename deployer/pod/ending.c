/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/ending.h"

#include <string.h>

#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/item/metadata.h"
#include "deployer/pod/objects.h"

enum {
    RESPONSE_MS = 10 * 1000,
    PROGRESS_MS = 5 * 60 * 1000,
    LOOK_FIRST_MS = 1000, /* most states are saved in less */
    LOOK_LATER_MS = 5000,
    SAVE_SECONDS_PER_CHUNK = 2,
    SAVE_FACTOR = 2, /* main may let the state grow after the snapshot */
};

/* ---- Reports ---- */

static int64_t annotation_number(const json_t *object, const char *key)
{
    const char *text = object_annotation(object, key);
    uint64_t number = 0;

    return text && number_parse(text, INT32_MAX, &number) ? (int64_t)number : 0;
}

struct save_report save_report_read(const json_t *secret, const char *pod_uid)
{
    const char *uid = secret ? object_annotation(secret, ANNOTATION_POD_UID) : NULL;
    const char *snapshot = secret ? object_annotation(secret, ANNOTATION_SNAPSHOT) : NULL;

    if (!uid || !pod_uid || strcmp(uid, pod_uid) != 0 || !snapshot)
        return (struct save_report){0};
    return (struct save_report){
        .is_there = true,
        .is_done = strcmp(snapshot, SNAPSHOT_SAVED) == 0,
        .chunks = annotation_number(secret, ANNOTATION_STATE_CHUNKS),
        .stored = annotation_number(secret, ANNOTATION_CHUNKS_STORED),
        .duration_ms = annotation_number(secret, ANNOTATION_MILLISECONDS),
        .version = object_version(secret),
    };
}

/* ---- Steps ---- */

/* The state of a container, such as {"running": {}}; NULL: not reported. */
static const json_t *container_state(const json_t *pod, const char *name)
{
    const json_t *status = NULL;
    size_t i = 0;

    json_array_foreach(doc_get(pod, "status.containerStatuses"), i, status)
    {
        if (strcmp(doc_text_or(status, "name", ""), name) == 0)
            return doc_get(status, "state");
    }
    return NULL;
}

static bool container_is(const json_t *pod, const char *name, const char *state)
{
    return json_is_object(doc_member(container_state(pod, name), state));
}

static bool main_has_ended(const json_t *pod)
{
    return container_is(pod, CONTAINER_MAIN, "terminated");
}

static bool wait_runs(const json_t *pod)
{
    return container_is(pod, CONTAINER_WAIT, "running");
}

/* The kubelet starts main first: its image may be there before that of wait. */
bool pod_ending_is_useful(const json_t *pod)
{
    return object_annotation(pod, ANNOTATION_END) && doc_text(pod, "spec.nodeName") &&
           !doc_text(pod, "metadata.deletionTimestamp") && !pod_is_over(pod) &&
           (wait_runs(pod) || container_is(pod, CONTAINER_WAIT, "waiting")) &&
           (container_is(pod, CONTAINER_MAIN, "running") || main_has_ended(pod));
}

bool pod_ending_is_requested(const json_t *pod)
{
    const char *end = object_annotation(pod, ANNOTATION_END);

    return end && strcmp(end, END_REQUESTED) == 0;
}

void pod_ending_start(int64_t now_unix_ms, struct pod_ending *ending)
{
    ending->since_unix_ms = ending->progress_unix_ms = now_unix_ms;
    ending->look_unix_ms = now_unix_ms + LOOK_FIRST_MS;
}

/* After the end of main, wait saves the state without being asked, and then exits. */
static int64_t patience_ms(const json_t *pod, const struct save_report *report)
{
    return report->is_there || (main_has_ended(pod) && wait_runs(pod)) ? PROGRESS_MS : RESPONSE_MS;
}

enum pod_ending_step pod_ending_next(const json_t *pod, const struct save_report *report,
                                     int64_t now_unix_ms, struct pod_ending *ending)
{
    if (!pod_ending_is_useful(pod))
        return POD_ENDING_DELETE;
    if (!pod_ending_is_requested(pod))
        return POD_ENDING_REQUEST;
    if (!ending->since_unix_ms)
        pod_ending_start(now_unix_ms, ending);
    if (report->is_done && !main_has_ended(pod))
        return POD_ENDING_DELETE;
    if (report->version != ending->version) {
        ending->version = report->version;
        ending->progress_unix_ms = now_unix_ms;
    }
    if (now_unix_ms - ending->progress_unix_ms >= patience_ms(pod, report))
        return POD_ENDING_DELETE;
    ending->look_unix_ms =
        now_unix_ms +
        (now_unix_ms - ending->since_unix_ms < RESPONSE_MS ? LOOK_FIRST_MS : LOOK_LATER_MS);
    return POD_ENDING_WAIT;
}

/* ---- The grace period ---- */

/* What wait keeps of the grace period for saving. If less were added to main's time, main would not
 * get all of it. */
static int64_t reserve_seconds(int64_t main)
{
    int64_t seconds = (main + POD_RESERVE_PART - 2) / (POD_RESERVE_PART - 1);

    if (seconds < POD_RESERVE_SECONDS_MIN)
        return POD_RESERVE_SECONDS_MIN;
    return seconds < POD_RESERVE_SECONDS_MAX ? seconds : POD_RESERVE_SECONDS_MAX;
}

static int64_t main_seconds(const json_t *pod)
{
    return doc_integer_or(pod, "spec.terminationGracePeriodSeconds", -1) - POD_SAVE_SECONDS;
}

/* True if the size of the state does not matter. If main has ended, a long grace period delays
 * nobody: the pod is over as soon as wait has saved the state. A wait that knows the annotation was
 * waited for already. */
static bool is_end_simple(const json_t *pod, int64_t *ret_seconds)
{
    int64_t main = main_seconds(pod);

    if (pod_has_stopped(pod))
        *ret_seconds = 0;
    else if (main <= 0) /* a pod of the Go deployer */
        *ret_seconds = -1;
    else if (main_has_ended(pod) && !object_annotation(pod, ANNOTATION_END))
        *ret_seconds = -1;
    else if (pod_wait_has_ended(pod))
        *ret_seconds = main;
    else
        return false;
    return true;
}

static int64_t estimated_seconds(int64_t main, int64_t chunks)
{
    return reserve_seconds(main) + (chunks > 1 ? (chunks - 1) * SAVE_SECONDS_PER_CHUNK : 0);
}

int64_t pod_end_seconds(const json_t *pod, size_t chunks)
{
    int64_t main = main_seconds(pod);
    int64_t seconds = 0;

    if (is_end_simple(pod, &seconds))
        return seconds;
    if (chunks >= POD_SAVE_SECONDS / SAVE_SECONDS_PER_CHUNK)
        return -1;
    seconds = estimated_seconds(main, (int64_t)chunks);
    return seconds < POD_SAVE_SECONDS ? main + seconds : -1;
}

int64_t pod_end_seconds_after(const json_t *pod, const struct save_report *report)
{
    int64_t main = main_seconds(pod);
    int64_t measured = (report->duration_ms * SAVE_FACTOR + 999) / 1000;
    int64_t seconds = 0;

    if (is_end_simple(pod, &seconds))
        return seconds;
    /* A whole upload was measured, or only a part of one. */
    seconds = report->stored && report->stored == report->chunks
                  ? reserve_seconds(main)
                  : estimated_seconds(main, report->chunks);
    return main + (measured > seconds ? measured : seconds);
}
