/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/history.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

enum { MINUTE_MS = 60 * 1000 };

struct entry {
    uint32_t hash; /* of namespace and name */
    char *key;     /* "namespace/name"; NULL: unused */
    char job[HISTORY_TEXT_MAX], reason[HISTORY_TEXT_MAX];
    bool is_failed;
    int64_t started_unix_ms, finished_unix_ms;
};

struct minute {
    int64_t number; /* since 1970; 0: unused */
    uint64_t succeeded, failed, timed;
    int64_t sum_ms, max_ms;
};

struct history {
    struct entry *entries; /* a ring */
    size_t next;
    struct minute minutes[HISTORY_MINUTES]; /* by number modulo HISTORY_MINUTES */
};

struct history *history_new(void)
{
    struct history *history = xcalloc(1, sizeof(*history));

    history->entries = xcalloc(HISTORY_RUNS_MAX, sizeof(struct entry));
    return history;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    for (size_t i = 0; i < HISTORY_RUNS_MAX; i++)
        free(history->entries[i].key);
    free(history->entries);
    free(history);
}

static char *key_of(const char *namespace_name, const char *name, uint32_t *ret_hash)
{
    char *key = xasprintf("%s/%s", namespace_name, name);

    *ret_hash = hash_bytes(HASH_FIRST, key, strlen(key));
    return key;
}

/* The i-th newest entry, or NULL if there are fewer or it is another object's. */
static const struct entry *entry_of(const struct history *history, size_t i, const char *key,
                                    uint32_t hash)
{
    const struct entry *entry =
        &history->entries[(history->next + HISTORY_RUNS_MAX - 1 - i) % HISTORY_RUNS_MAX];

    return entry->key && entry->hash == hash && strcmp(entry->key, key) == 0 ? entry : NULL;
}

static void count_minute(struct history *history, const struct history_run *run)
{
    int64_t number = run->finished_unix_ms / MINUTE_MS;
    int64_t took_ms = run->finished_unix_ms - run->started_unix_ms;
    struct minute *minute = &history->minutes[(uint64_t)number % HISTORY_MINUTES];

    if (number < minute->number)
        return; /* more than an hour ago */
    if (number > minute->number)
        *minute = (struct minute){.number = number};
    if (run->is_failed)
        minute->failed++;
    else
        minute->succeeded++;
    if (!run->started_unix_ms || took_ms < 0)
        return;
    minute->timed++;
    minute->sum_ms += took_ms;
    if (took_ms > minute->max_ms)
        minute->max_ms = took_ms;
}

void history_add(struct history *history, const struct history_run *run)
{
    uint32_t hash = 0;
    char *key = key_of(run->namespace_name, run->name, &hash);
    struct entry *entry = &history->entries[history->next];

    free(entry->key);
    *entry = (struct entry){.hash = hash,
                            .key = key,
                            .is_failed = run->is_failed,
                            .started_unix_ms = run->started_unix_ms,
                            .finished_unix_ms = run->finished_unix_ms};
    (void)snprintf(entry->job, sizeof(entry->job), "%s", run->job);
    (void)snprintf(entry->reason, sizeof(entry->reason), "%s", run->reason);
    history->next = (history->next + 1) % HISTORY_RUNS_MAX;
    count_minute(history, run);
}

static void set_time(json_t *doc, const char *key, int64_t unix_ms)
{
    char text[TIMESTAMP_MAX] = "";

    if (unix_ms <= 0)
        return;
    timestamp_format(unix_ms, text);
    (void)json_object_set_new(doc, key, json_string(text));
}

json_t *history_of(const struct history *history, const char *namespace_name, const char *name)
{
    uint32_t hash = 0;
    cleanup_free char *key = key_of(namespace_name, name, &hash);
    json_t *list = json_array();

    for (size_t i = 0; i < HISTORY_RUNS_MAX && json_array_size(list) < HISTORY_SHOWN_MAX; i++) {
        const struct entry *entry = entry_of(history, i, key, hash);
        json_t *run = NULL;

        if (!entry)
            continue;
        run = json_object();
        (void)json_object_set_new(run, "job", doc_new_text(entry->job));
        (void)json_object_set_new(run, "state",
                                  json_string(entry->is_failed ? "failed" : "succeeded"));
        if (*entry->reason)
            (void)json_object_set_new(run, "reason", doc_new_text(entry->reason));
        set_time(run, "startedAt", entry->started_unix_ms);
        set_time(run, "finishedAt", entry->finished_unix_ms);
        (void)json_array_append_new(list, run);
    }
    return list;
}

json_t *history_minutes(const struct history *history, int64_t now_unix_ms)
{
    int64_t last = now_unix_ms / MINUTE_MS;
    json_t *list = json_array();

    for (int64_t number = last - HISTORY_MINUTES + 1; number <= last; number++) {
        const struct minute *minute = &history->minutes[(uint64_t)number % HISTORY_MINUTES];
        bool is_used = number > 0 && minute->number == number;
        json_t *entry = json_object();

        set_time(entry, "minute", number * MINUTE_MS);
        (void)json_object_set_new(entry, "succeeded",
                                  json_integer(is_used ? (json_int_t)minute->succeeded : 0));
        (void)json_object_set_new(entry, "failed",
                                  json_integer(is_used ? (json_int_t)minute->failed : 0));
        if (is_used && minute->timed > 0) {
            double mean_ms = (double)minute->sum_ms / (double)minute->timed;

            (void)json_object_set_new(entry, "meanSeconds", json_real(mean_ms / 1000));
            (void)json_object_set_new(entry, "maxSeconds",
                                      json_real((double)minute->max_ms / 1000));
        }
        (void)json_array_append_new(list, entry);
    }
    return list;
}
