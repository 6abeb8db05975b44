/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/pod/state_read.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/pod/engine.h"
#include "deployer/protocol/observe.h"

struct state_reading {
    struct state_reading_options options;
    struct state_set set;
    size_t generation; /* being read */
    struct buffer *chunks;
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
    free(reading->chunks);
    state_set_done(&reading->set);
    free(reading);
}

static void finish(struct task *task, const struct error *err)
{
    struct state_reading *reading = pod_task(task)->chain.state_reading;
    struct error cause = *err;
    void (*on_done)(struct task *, const struct error *) = reading->options.on_done;

    pod_task(task)->chain.state_reading = NULL;
    state_reading_free(reading);
    on_done(task, &cause);
}

/* ---- A generation ---- */

static int read_chunk(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err)
{
    const struct state_reading *reading = data;
    const struct buffer *bytes = &reading->chunks[chunk->number]; /* complete: by number */

    return buffer_append(ret_bytes, bytes->data, bytes->size, err);
}

static int read_generation(struct state_reading *reading, const struct state_generation *generation,
                           struct error *err)
{
    const struct state_source source = {.read_chunk = read_chunk, .data = reading};
    struct text_budget budget = reading->options.budget;
    int result = state_find_texts(generation, &source, &budget, reading->options.on_text,
                                  reading->options.data, err);

    drop_chunks(reading);
    return result;
}

/* The generation to read, or NULL if there is no more. */
static const struct state_generation *present_generation(const struct state_reading *reading)
{
    const struct state_set *set = &reading->set;
    size_t place = reading->generation;

    if (place >= reading->options.generations_max || place >= set->generation_count ||
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
        finish(task, &cause);
        return;
    }
    if (reading->chunk_count == generation->chunk_count) {
        if (read_generation(reading, generation, &cause) < 0) {
            finish(task, &cause);
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
    struct error err = {0};

    if (!generation) {
        finish(task, &err);
        return;
    }
    if (generation->chunk_count > reading->options.chunks_max) {
        (void)error_set(&err, ERROR_TOO_LARGE, "the state has %zu chunks, more than %zu",
                        generation->chunk_count, reading->options.chunks_max);
        finish(task, &err);
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
        finish(task, err);
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

void pod_read_state(struct task *task, const struct state_reading_options *options)
{
    struct state_reading *reading = xcalloc(1, sizeof(*reading));
    struct error err = {0};

    state_reading_free(pod_task(task)->chain.state_reading);
    pod_task(task)->chain.state_reading = reading;
    reading->options = *options;
    reading->chunks = xcalloc(options->chunks_max, sizeof(*reading->chunks));
    if (pod_list_state(task, on_state_secret, on_state, &err) < 0)
        finish(task, &err);
}
