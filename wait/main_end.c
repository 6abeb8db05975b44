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
        [MAIN_RUNS] = "unknown", [MAIN_ENDED] = "ended", [MAIN_LOST] = "lost"};

    return names[kind];
}

static struct main_end ended(int64_t exit_code, const char *reason)
{
    struct main_end end = {.kind = MAIN_ENDED};

    /* A code that is no exit code can only mean trouble, never success. */
    end.exit_code = exit_code >= 0 && exit_code <= 255 ? (int)exit_code : 255;
    (void)snprintf(end.reason, sizeof(end.reason), "%s", reason ? reason : "");
    return end;
}

struct main_end main_end_from_pod(const json_t *pod, const char *expected_uid)
{
    const char *uid = doc_text(pod, "metadata.uid");
    const json_t *statuses = doc_get(pod, "status.containerStatuses");
    size_t count = json_array_size(statuses);

    if (expected_uid && *expected_uid && uid && strcmp(uid, expected_uid) != 0)
        return (struct main_end){.kind = MAIN_LOST};
    for (size_t i = 0; i < count; i++) {
        const json_t *status = json_array_get(statuses, i);
        const json_t *terminated = doc_get(status, "state.terminated");

        if (strcmp(doc_text_or(status, "name", ""), CONTAINER_MAIN) != 0)
            continue;
        if (json_is_object(terminated))
            return ended(doc_integer_or(terminated, "exitCode", 255),
                         doc_text(terminated, "reason"));
    }
    return (struct main_end){.kind = MAIN_RUNS};
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
    return facts;
}

int main_end_from_line(const char *line, size_t size, struct main_end *ret_end, struct error *err)
{
    cleanup_json json_t *doc = NULL;
    const json_t *code = NULL;

    if (doc_parse_json(line, size, MAIN_END_LINE_MAX, &doc, err) < 0)
        return error_wrap(err, "the runner's word on main's end");
    code = doc_get(doc, "exitCode");
    if (!json_is_integer(code))
        return error_set(err, ERROR_INVALID,
                         "the runner's word on main's end has no number 'exitCode'");
    *ret_end = ended(json_integer_value(code), doc_text(doc, "reason"));
    return 0;
}
