/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state that a run was given and the one that it left, before the output of main is
 * shown: both may contain secrets. Metadata first, because a state can be gigabytes; then chunk by
 * chunk, within narrow limits. The content is untrusted and this process is privileged, so nothing
 * is unpacked (common/archive/unpack_texts.h). */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/state/texts.h"
#include "deployer/pod/engine.h"
#include "deployer/protocol/observe.h"

enum {
    GENERATIONS_MAX = 2, /* the one that the run was given, and the one that it has saved */
    /* Of each. A chunk is a request, and 1 MiB at most. */
    CHUNKS_MAX = 4,
    /* The event loop is blocked meanwhile: this takes some tens of milliseconds. The text may be as
     * large as all other inputs together. */
    UNPACKED_MAX = 16 * 1024 * 1024,
    TEXT_MAX = 1024 * 1024,
};

struct state_reading {
    struct state_set set;
    size_t generation; /* being read */
    struct buffer chunks[CHUNKS_MAX];
    size_t chunk_count;
};

static void drop_chunks(struct state_reading *reading)
{
    for (size_t i = 0; i < reading->chunk_count; i++) {
        struct buffer *chunk = &reading->chunks[i];

        if (chunk->data)
            explicit_bzero(chunk->data, chunk->capacity);
        buffer_done(chunk);
    }
    reading->chunk_count = 0;
}

void state_reading_free(struct state_reading *reading)
{
    if (!reading)
        return;
    drop_chunks(reading);
    state_set_done(&reading->set);
    free(reading);
}

static void finish(struct task *task)
{
    pod_task(task)->chain.redaction.is_state_known = true;
    state_reading_free(pod_task(task)->chain.state_reading);
    pod_task(task)->chain.state_reading = NULL;
    pod_redaction_is_read(task);
}

/* Without the state the output of main is not shown; the job still ends. */
static void give_up(struct task *task, const struct error *err)
{
    log_info("log of main suppressed: state could not be read",
             log_text("deployItem", task->record->name),
             log_text("namespace", task->record->namespace_name),
             log_text("jobID", task->item->job), log_text("error", err->text));
    pod_task(task)->chain.redaction.is_state_incomplete = true;
    finish(task);
}

/* ---- A generation ---- */

static int read_chunk(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err)
{
    const struct state_reading *reading = data;
    const struct buffer *bytes = &reading->chunks[chunk->number]; /* complete: by number */

    return buffer_append(ret_bytes, bytes->data, bytes->size, err);
}

static void add_text(void *data, const char *name, const char *text, size_t size)
{
    (void)name;
    redaction_add_state_text(data, text, size);
}

static int read_generation(struct task *task, const struct state_generation *generation,
                           struct error *err)
{
    struct state_reading *reading = pod_task(task)->chain.state_reading;
    const struct state_source source = {.read_chunk = read_chunk, .data = reading};
    struct text_budget budget = {.unpacked = UNPACKED_MAX, .text = TEXT_MAX};
    int result = state_find_texts(generation, &source, &budget, add_text,
                                  &pod_task(task)->chain.redaction, err);

    drop_chunks(reading);
    return result;
}

/* The generation to read, or NULL if there is no more. */
static const struct state_generation *present_generation(const struct state_reading *reading)
{
    const struct state_set *set = &reading->set;
    size_t place = reading->generation;

    if (place >= GENERATIONS_MAX || place >= set->generation_count ||
        !set->generations[place].is_complete)
        return NULL;
    return &set->generations[place];
}

/* ---- Requests ---- */

static void next_chunk(struct task *task);

static int keep_chunk(struct state_reading *reading, const json_t *secret, struct error *err)
{
    const json_t *text = doc_member(doc_member(secret, "data"), SECRET_KEY_CONFIG);
    struct buffer *chunk = &reading->chunks[reading->chunk_count++];

    buffer_init(chunk, SECRET_MAX_BYTES);
    if (!json_is_string(text))
        return error_set(err, ERROR_INVALID, "state chunk without data");
    return base64_decode(json_string_value(text), json_string_length(text), chunk, err);
}

static void on_chunk(struct task *task, json_t *object, const struct error *err)
{
    struct state_reading *reading = pod_task(task)->chain.state_reading;
    const struct state_generation *generation = &reading->set.generations[reading->generation];
    struct error cause = *err;

    if (err->kind != ERROR_NONE || keep_chunk(reading, object, &cause) < 0) {
        give_up(task, &cause);
        return;
    }
    if (reading->chunk_count == generation->chunk_count) {
        if (read_generation(task, generation, &cause) < 0) {
            give_up(task, &cause);
            return;
        }
        reading->generation++;
    }
    next_chunk(task);
}

static void next_chunk(struct task *task)
{
    const struct state_reading *reading = pod_task(task)->chain.state_reading;
    const struct state_generation *generation = present_generation(reading);
    struct kube_request request = {.verb = KUBE_GET,
                                   .resource = KUBE_SECRETS,
                                   .skipped_members = OBJECT_SKIPPED_MEMBERS,
                                   .namespace_name = task->controller->config->namespace_name};

    if (!generation || pod_task(task)->chain.redaction.is_state_incomplete) {
        finish(task);
        return;
    }
    if (generation->chunk_count > CHUNKS_MAX) {
        struct error err = {0};

        (void)error_set(&err, ERROR_TOO_LARGE, "the state has %zu chunks, more than %d",
                        generation->chunk_count, (int)CHUNKS_MAX);
        give_up(task, &err);
        return;
    }
    request.name = generation->chunks[reading->chunk_count]->object;
    task_request(task, task->controller->host, &request, on_chunk);
}

static void on_state(void *data, const char *resource_version, const struct error *err)
{
    struct task *task = data;

    (void)resource_version;
    task->chain.list = NULL;
    if (task->chain.is_changed) {
        task_done(task);
        return;
    }
    if (err->kind != ERROR_NONE) {
        give_up(task, err);
        return;
    }
    state_set_arrange(&pod_task(task)->chain.state_reading->set);
    next_chunk(task);
}

static void on_state_secret(void *data, const json_t *object, const struct error *err)
{
    struct task *task = data;

    (void)err;
    pod_add_state(task, &pod_task(task)->chain.state_reading->set, object);
}

void pod_read_redaction_state(struct task *task)
{
    struct error err = {0};

    state_reading_free(pod_task(task)->chain.state_reading);
    pod_task(task)->chain.state_reading = xcalloc(1, sizeof(*pod_task(task)->chain.state_reading));
    if (pod_list_state(task, on_state_secret, on_state, &err) < 0)
        give_up(task, &err);
}
