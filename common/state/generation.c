/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/generation.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

#define COUNT_MAX INT64_C(1000000) /* 1 TiB */
enum { UNREADABLE = -1 };

/* 0 if the annotation is missing, UNREADABLE if it is not a number from 1 to max. */
static int64_t own_number(const json_t *annotations, const char *key, int64_t max)
{
    const char *text = json_string_value(doc_member(annotations, key));
    int64_t number = 0;

    if (!doc_member(annotations, key))
        return 0;
    if (!text || !number_parse_signed(text, &number) || number < 1 || number > max)
        return UNREADABLE;
    return number;
}

static char *text_or_null(const json_t *annotations, const char *key)
{
    return xstrdup_or_null(json_string_value(doc_member(annotations, key)));
}

bool state_secret_is_of_item(const json_t *secret, const char *item_hash)
{
    const json_t *hash = doc_member(doc_get(secret, "metadata.labels"), LABEL_ITEM_HASH);

    return !hash || (json_is_string(hash) && strcmp(json_string_value(hash), item_hash) == 0);
}

void state_set_add_secret(struct state_set *set, const json_t *secret)
{
    const json_t *annotations = doc_get(secret, "metadata.annotations");
    const char *uuid = json_string_value(doc_member(annotations, ANNOTATION_STATE_UUID));
    const char *number = json_string_value(doc_member(annotations, ANNOTATION_STATE_NUMBER));
    struct state_chunk chunk = {
        .object = xstrdup(doc_text_or(secret, "metadata.name", "")),
        .uuid = xstrdup(uuid ? uuid : ""),
        .sha256 = text_or_null(annotations, ANNOTATION_STATE_SHA256),
        .job = text_or_null(annotations, ANNOTATION_JOB),
        .pod = text_or_null(annotations, ANNOTATION_POD_UID),
        .count = own_number(annotations, ANNOTATION_STATE_CHUNKS, COUNT_MAX),
        .sequence = own_number(annotations, ANNOTATION_STATE_SEQUENCE, STATE_SEQUENCE_MAX),
    };
    struct error ignored = {0};

    /* As strconv.Atoi() in Go, whose errors the Go deployer ignores. */
    if (!number || !number_parse_signed(number, &chunk.number))
        chunk.number = 0;
    if (timestamp_parse(doc_text_or(secret, "metadata.creationTimestamp", ""),
                        &chunk.created_unix_ms, &ignored) < 0)
        chunk.created_unix_ms = 0;

    set->chunks = xreallocarray(set->chunks, set->chunk_count + 1, sizeof(*set->chunks));
    set->chunks[set->chunk_count++] = chunk;
}

void state_set_done(struct state_set *set)
{
    for (size_t i = 0; i < set->chunk_count; i++) {
        struct state_chunk *chunk = &set->chunks[i];

        free(chunk->object);
        free(chunk->uuid);
        free(chunk->sha256);
        free(chunk->job);
        free(chunk->pod);
    }
    for (size_t i = 0; i < set->generation_count; i++)
        free(set->generations[i].chunks);
    free(set->chunks);
    free(set->generations);
    *set = (struct state_set){0};
}

/* By generation, then number, then name, so that the result does not depend on the order of input.
 */
static int compare_chunks(const void *left, const void *right)
{
    const struct state_chunk *a = left, *b = right;
    int order = strcmp(a->uuid, b->uuid);

    if (order)
        return order;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->object, b->object);
}

static bool is_sha256(const char *text)
{
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool are_texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* All chunks must agree with the first one. */
static bool is_complete(const struct state_generation *generation)
{
    const struct state_chunk *first = generation->chunks[0];

    if (generation->is_ours && (first->count != (int64_t)generation->chunk_count ||
                                first->sequence < 1 || !is_sha256(first->sha256)))
        return false;
    for (size_t i = 0; i < generation->chunk_count; i++) {
        const struct state_chunk *chunk = generation->chunks[i];

        if (chunk->number != (int64_t)i || chunk->count != first->count ||
            chunk->sequence != first->sequence || !are_texts_equal(chunk->sha256, first->sha256))
            return false;
    }
    return true;
}

static void add_generation(struct state_set *set, struct state_chunk *chunks, size_t count)
{
    struct state_generation generation = {
        .chunks = xcalloc(count, sizeof(struct state_chunk *)),
        .chunk_count = count,
        .uuid = chunks[0].uuid,
        .sha256 = chunks[0].sha256,
    };

    for (size_t i = 0; i < count; i++) {
        const struct state_chunk *chunk = &chunks[i];

        generation.chunks[i] = &chunks[i];
        if (chunk->sha256 || chunk->count || chunk->sequence)
            generation.is_ours = true;
        if (chunk->sequence > generation.sequence)
            generation.sequence = chunk->sequence;
    }
    generation.is_complete = is_complete(&generation);
    set->generations[set->generation_count++] = generation;
}

/* The newest chunk determines the age of a generation; among chunks of the same second it is the
 * first one by name, because the Go deployer picks the first one of a list sorted by name. */
static const struct state_chunk *newest_chunk(const struct state_generation *generation)
{
    const struct state_chunk *newest = generation->chunks[0];

    for (size_t i = 1; i < generation->chunk_count; i++) {
        const struct state_chunk *chunk = generation->chunks[i];

        if (chunk->created_unix_ms > newest->created_unix_ms ||
            (chunk->created_unix_ms == newest->created_unix_ms &&
             strcmp(chunk->object, newest->object) < 0))
            newest = chunk;
    }
    return newest;
}

/* Complete before incomplete, ours before Go's, then best first. Two of ours have the same sequence
 * only if an old pod stored its state after the pod of a newer job: the older one is right.
 */
static int compare_generations(const void *left, const void *right)
{
    const struct state_generation *a = left, *b = right;
    const struct state_chunk *newest_a = newest_chunk(a), *newest_b = newest_chunk(b);
    int order = 0;

    if (a->is_complete != b->is_complete)
        return a->is_complete ? -1 : 1;
    if (a->is_ours != b->is_ours)
        return a->is_ours ? -1 : 1;
    if (a->is_ours && a->sequence != b->sequence)
        return a->sequence > b->sequence ? -1 : 1;
    if (newest_a->created_unix_ms != newest_b->created_unix_ms) {
        order = newest_a->created_unix_ms > newest_b->created_unix_ms ? -1 : 1;
        return a->is_ours ? -order : order;
    }
    order = strcmp(newest_a->object, newest_b->object);
    return order ? order : strcmp(a->uuid, b->uuid);
}

static bool is_newer(const struct state_generation *a, const struct state_generation *b)
{
    return newest_chunk(a)->created_unix_ms > newest_chunk(b)->created_unix_ms;
}

/* Merges two sorted halves, ours and Go's. A generation of Go's goes before the best one of ours
 * that was created earlier. */
static void merge(struct state_generation *generations, size_t own_count, size_t count)
{
    cleanup_free struct state_generation *merged = xcalloc(count + 1, sizeof(*merged));
    size_t own = 0, go = own_count, used = 0;

    while (own < own_count || go < count) {
        bool is_go_next =
            own == own_count || (go < count && is_newer(&generations[go], &generations[own]));

        merged[used++] = is_go_next ? generations[go++] : generations[own++];
    }
    if (count)
        memcpy(generations, merged, count * sizeof(*merged));
}

void state_set_arrange(struct state_set *set)
{
    size_t complete_count = 0, own_count = 0;

    if (!set->chunk_count)
        return;
    qsort(set->chunks, set->chunk_count, sizeof(*set->chunks), compare_chunks);
    set->generations = xcalloc(set->chunk_count, sizeof(*set->generations));
    for (size_t from = 0, to = 0; from < set->chunk_count; from = to) {
        for (to = from + 1; to < set->chunk_count; to++) {
            if (strcmp(set->chunks[to].uuid, set->chunks[from].uuid) != 0)
                break;
        }
        add_generation(set, &set->chunks[from], to - from);
    }
    qsort(set->generations, set->generation_count, sizeof(*set->generations), compare_generations);
    for (size_t i = 0; i < set->generation_count && set->generations[i].is_complete; i++) {
        complete_count++;
        own_count += set->generations[i].is_ours;
    }
    merge(set->generations, own_count, complete_count);
}

const struct state_generation *state_set_newest(const struct state_set *set)
{
    return set->generation_count && set->generations[0].is_complete ? &set->generations[0] : NULL;
}

int64_t state_set_last_sequence(const struct state_set *set)
{
    int64_t last = 0;

    for (size_t i = 0; i < set->chunk_count; i++) {
        if (set->chunks[i].sequence > last)
            last = set->chunks[i].sequence;
    }
    return last;
}

int64_t state_set_next_sequence(const struct state_set *set, int64_t unix_seconds)
{
    int64_t next = state_set_last_sequence(set) + 3;

    return next > unix_seconds ? next : unix_seconds;
}

bool state_generation_is_interrupted(const struct state_generation *generation)
{
    return generation->is_ours && !generation->is_complete && generation->chunks[0]->number > 0;
}

/* Whether an incomplete generation may be deleted. */
static bool is_incomplete_garbage(const struct state_generation *generation,
                                  const struct state_generation *newest, bool is_idle)
{
    if (!newest)
        return is_idle && state_generation_is_interrupted(generation);
    if (is_idle)
        return true;
    if (generation->is_ours && newest->is_ours)
        return generation->sequence <= newest->sequence;
    return is_newer(newest, generation);
}

size_t state_set_garbage(const struct state_set *set, size_t keep, bool is_idle,
                         const char ***ret_names)
{
    const struct state_generation *newest = state_set_newest(set);
    const char **names = xcalloc(set->chunk_count + 1, sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; i < set->generation_count; i++) {
        const struct state_generation *generation = &set->generations[i];
        bool is_garbage = generation->is_complete
                              ? i >= keep
                              : is_incomplete_garbage(generation, newest, is_idle);

        for (size_t j = 0; is_garbage && j < generation->chunk_count; j++)
            names[count++] = generation->chunks[j]->object;
    }
    *ret_names = names;
    return count;
}
