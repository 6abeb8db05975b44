/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/heartbeat.h"

#include <stdbool.h>
#include <string.h>

#include "common/data/doc.h"

enum { DURATION_MIN_MS = 1000 };

static uint64_t duration_of(const json_t *lease)
{
    int64_t seconds = doc_integer_or(lease, "spec.leaseDurationSeconds", 0);

    if (seconds <= 0 || seconds > HEARTBEAT_MAX_MS / 1000)
        return HEARTBEAT_MAX_MS;
    return (uint64_t)seconds * 1000 < DURATION_MIN_MS ? DURATION_MIN_MS : (uint64_t)seconds * 1000;
}

void heartbeat_set(json_t *beats, const json_t *lease, uint64_t now_ms)
{
    const char *name = doc_text_or(lease, "metadata.name", "");
    const char *holder = doc_text_or(lease, "spec.holderIdentity", "");
    const char *renewed = doc_text_or(lease, "spec.renewTime", "");
    const json_t *old = doc_member(beats, name);
    bool is_changed = !old || strcmp(doc_text_or(old, "holder", ""), holder) != 0 ||
                      strcmp(doc_text_or(old, "renewed", ""), renewed) != 0;
    uint64_t seen = is_changed ? now_ms : (uint64_t)doc_integer_or(old, "seenMs", 0);
    bool has_changed = old && (is_changed || doc_bool_or(old, "hasChanged", false));

    (void)json_object_set_new(
        beats, name,
        json_pack("{s:o,s:o,s:I,s:I,s:b}", "holder", doc_new_text(holder), "renewed",
                  doc_new_text(renewed), "durationMs", (json_int_t)duration_of(lease), "seenMs",
                  (json_int_t)seen, "hasChanged", has_changed));
}

void heartbeat_remove(json_t *beats, const char *name)
{
    (void)json_object_del(beats, name);
}

static uint64_t age_of(const json_t *beat, uint64_t now_ms)
{
    uint64_t seen = (uint64_t)doc_integer_or(beat, "seenMs", 0);

    return now_ms > seen ? now_ms - seen : 0;
}

enum heartbeat_state heartbeat_judge(const json_t *beats, const char *name, uint64_t now_ms)
{
    const json_t *beat = doc_member(beats, name);

    if (!beat)
        return HEARTBEAT_ABSENT;
    if (!*doc_text_or(beat, "holder", ""))
        return HEARTBEAT_RELEASED;
    if (age_of(beat, now_ms) >= (uint64_t)doc_integer_or(beat, "durationMs", 0))
        return HEARTBEAT_LOST;
    return doc_bool_or(beat, "hasChanged", false) ? HEARTBEAT_ALIVE : HEARTBEAT_UNKNOWN;
}

void heartbeat_resume(json_t *beats, uint64_t broken_ms, uint64_t now_ms)
{
    const char *name = NULL;
    json_t *beat = NULL;

    doc_foreach(beats, name, beat)
    {
        if ((uint64_t)doc_integer_or(beat, "seenMs", 0) > broken_ms ||
            heartbeat_judge(beats, name, broken_ms) == HEARTBEAT_LOST)
            continue;
        (void)json_object_set_new(beat, "seenMs", json_integer((json_int_t)now_ms));
        (void)json_object_set_new(beat, "hasChanged", json_false());
    }
}

uint64_t heartbeat_age_ms(const json_t *beats, const char *name, uint64_t now_ms)
{
    const json_t *beat = doc_member(beats, name);

    return beat ? age_of(beat, now_ms) : 0;
}

uint64_t heartbeat_next_ms(const json_t *beats, uint64_t now_ms)
{
    uint64_t next = UINT64_MAX;
    const char *name = NULL;
    json_t *beat = NULL;

    doc_foreach(beats, name, beat)
    {
        uint64_t due = (uint64_t)doc_integer_or(beat, "seenMs", 0) +
                       (uint64_t)doc_integer_or(beat, "durationMs", 0);

        if (due > now_ms && due < next)
            next = due;
    }
    return next;
}
