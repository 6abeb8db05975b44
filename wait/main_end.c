/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/main_end.h"

#include <stdio.h>
#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

const char *main_end_kind_name(enum main_end_kind kind)
{
    static const char *const names[] = {
        [MAIN_RUNNING] = "running",
        [MAIN_NOT_STARTED] = "not started",
        [MAIN_ENDED] = "ended",
        [MAIN_LOST] = "lost",
    };

    return names[kind];
}

static struct main_end ended(int64_t exit_code, const char *reason)
{
    struct main_end end = {.kind = MAIN_ENDED};

    /* An invalid exit code must never count as success. */
    end.exit_code = exit_code >= 0 && exit_code <= 255 ? (int)exit_code : 255;
    (void)snprintf(end.reason, sizeof(end.reason), "%s", reason ? reason : "");
    return end;
}

/* The "state" of a container in the pod's status; NULL if it is not listed. */
static const json_t *container_state(const json_t *pod, const char *name)
{
    const json_t *statuses = doc_get(pod, "status.containerStatuses");
    size_t count = json_array_size(statuses);

    for (size_t i = 0; i < count; i++) {
        const json_t *status = json_array_get(statuses, i);

        if (strcmp(doc_text_or(status, "name", ""), name) == 0)
            return doc_get(status, "state");
    }
    return NULL;
}

struct main_end main_end_from_pod(const json_t *pod, const char *expected_uid)
{
    const char *uid = doc_text(pod, "metadata.uid");
    const json_t *state = container_state(pod, CONTAINER_MAIN);
    const json_t *terminated = doc_get(state, "terminated");
    const json_t *waiting = doc_get(state, "waiting");
    struct main_end end = {.kind = MAIN_RUNNING};

    if (expected_uid && *expected_uid && uid && strcmp(uid, expected_uid) != 0)
        return (struct main_end){.kind = MAIN_LOST};
    if (json_is_object(terminated))
        return ended(doc_integer_or(terminated, "exitCode", 255), doc_text(terminated, "reason"));
    /* A status from before this container started says "waiting" of both, while main may be running
     * by now. The kubelet takes the states of all containers at the same moment. */
    if (json_is_object(waiting) &&
        json_is_object(doc_get(container_state(pod, CONTAINER_WAIT), "running"))) {
        end.kind = MAIN_NOT_STARTED;
        (void)snprintf(end.reason, sizeof(end.reason), "%s", doc_text_or(waiting, "reason", ""));
    }
    return end;
}

/* The kubelet gives every container at least this long, also in a forced deletion
 * (minimumGracePeriodInSeconds in pkg/kubelet/kuberuntime). */
enum { KUBELET_GRACE_SECONDS_MIN = 2 };

static int64_t grace_seconds(const json_t *pod)
{
    int64_t seconds = doc_integer_or(pod, "metadata.deletionGracePeriodSeconds", -1);

    if (seconds < 0)
        seconds = doc_integer_or(pod, "spec.terminationGracePeriodSeconds", -1);
    if (seconds < 0)
        return 0;
    return seconds < KUBELET_GRACE_SECONDS_MIN ? KUBELET_GRACE_SECONDS_MIN : seconds;
}

static const char *end_annotation(const json_t *pod)
{
    const json_t *value = doc_member(doc_get(pod, "metadata.annotations"), ANNOTATION_END);

    return json_is_string(value) ? json_string_value(value) : "";
}

struct pod_facts main_end_pod_facts(const json_t *pod)
{
    struct pod_facts facts = {0};
    struct error ignored = {0};
    int64_t created_unix_ms = 0;
    const char *created = doc_text_or(pod, "metadata.creationTimestamp", "");

    (void)snprintf(facts.uid, sizeof(facts.uid), "%s", doc_text_or(pod, "metadata.uid", ""));
    if (timestamp_parse(created, &created_unix_ms, &ignored) == 0 && created_unix_ms > 0)
        facts.created_unix_seconds = created_unix_ms / 1000;
    facts.is_being_deleted = doc_text(pod, "metadata.deletionTimestamp") != NULL;
    facts.is_end_requested = strcmp(end_annotation(pod), END_REQUESTED) == 0;
    facts.grace_seconds = grace_seconds(pod);
    return facts;
}

int main_end_from_line(const char *line, size_t size, struct main_end *ret_end, struct error *err)
{
    cleanup_json json_t *doc = NULL;
    const json_t *code = NULL;

    if (doc_parse_json(line, size, MAIN_END_LINE_MAX, &doc, err) < 0)
        return error_wrap(err, "main's exit status");
    code = doc_get(doc, "exitCode");
    if (!json_is_integer(code))
        return error_set(err, ERROR_INVALID,
                         "main's exit status: exitCode is missing or not a number");
    *ret_end = ended(json_integer_value(code), doc_text(doc, "reason"));
    return 0;
}
