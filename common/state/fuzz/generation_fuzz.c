/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: no chunk is lost or duplicated, complete generations come before incomplete ones and
 * really are complete, the order of input does not matter, and no chunk of the newest generation is
 * garbage.
 *
 * Six bytes of the input make a chunk: each selects one of a few values that are likely to clash.
 */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/state/tests/chunks.h"

enum { BYTES_A_CHUNK = 6, CHUNKS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const uuids[] = {"a", "b", "c", "", NULL};
static const char *const numbers[] = {"0", "1", "2", "3", "+1", "-1", "x", "9223372036854775807",
                                      NULL};
static const char *const counts[] = {NULL, "1", "2", "3", "0", "-1", "x", "1000001"};
static const char *const sums[] = {NULL, SHA_A, SHA_B, "abc", ""};
static const char *const sequences[] = {NULL, "1", "2", "3", "0", "x", "9223372036854775807"};
static const char *const times[] = {"2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z",
                                    "2026-01-01T00:00:03Z", NULL, "yesterday"};

#define pick(table_, byte_) ((table_)[(byte_) % array_length(table_)])

static void require(bool is_true)
{
    if (!is_true)
        abort();
}

static void fill(struct state_set *set, const uint8_t *data, size_t count, bool is_backwards)
{
    for (size_t i = 0; i < count; i++) {
        size_t place = is_backwards ? count - 1 - i : i;
        const uint8_t *bytes = data + place * BYTES_A_CHUNK;
        char object[24];

        (void)snprintf(object, sizeof(object), "s%02zu", place);
        chunk_add(set, &(struct chunk_spec){object, pick(uuids, bytes[0]), pick(numbers, bytes[1]),
                                            pick(times, bytes[2]), pick(counts, bytes[3]),
                                            pick(sums, bytes[4]), pick(sequences, bytes[5])});
    }
    state_set_arrange(set);
}

static void check_generation(const struct state_generation *generation)
{
    for (size_t i = 0; i < generation->chunk_count; i++) {
        const struct state_chunk *chunk = generation->chunks[i];

        require(strcmp(chunk->uuid, generation->uuid) == 0);
        require(chunk->sequence <= generation->sequence || generation->sequence == 0);
        if (!generation->is_complete)
            continue;
        require(chunk->number == (int64_t)i);
        if (generation->is_ours)
            require(chunk->count == (int64_t)generation->chunk_count && chunk->sha256 &&
                    strlen(chunk->sha256) == 64 && chunk->sequence > 0);
        else
            require(!chunk->sha256 && !chunk->count && !chunk->sequence);
    }
}

static void check_garbage(const struct state_set *set, size_t keep, bool is_idle)
{
    const struct state_generation *newest = state_set_newest(set);
    cleanup_free const char **names = NULL;
    size_t count = state_set_garbage(set, keep, is_idle, &names);

    require(count <= set->chunk_count);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            require(strcmp(names[i], names[j]) != 0);
        for (size_t j = 0; newest && j < newest->chunk_count; j++)
            require(strcmp(names[i], newest->chunks[j]->object) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = size / BYTES_A_CHUNK < CHUNKS_MAX ? size / BYTES_A_CHUNK : CHUNKS_MAX;
    struct state_set set = {0}, backwards = {0};
    size_t chunks = 0;
    bool is_torn_seen = false;

    fill(&set, data, count, false);
    fill(&backwards, data, count, true);
    require(set.generation_count == backwards.generation_count);
    for (size_t i = 0; i < set.generation_count; i++) {
        const struct state_generation *generation = &set.generations[i];

        check_generation(generation);
        chunks += generation->chunk_count;
        require(!(is_torn_seen && generation->is_complete));
        is_torn_seen |= !generation->is_complete;
        require(strcmp(generation->uuid, backwards.generations[i].uuid) == 0);
    }
    require(chunks == count && set.chunk_count == count);
    for (size_t i = 0; i < set.chunk_count; i++)
        require(set.chunks[i].sequence <= state_set_last_sequence(&set));
    check_garbage(&set, 1, false);
    check_garbage(&set, 2, true);
    state_set_done(&set);
    state_set_done(&backwards);
    return 0;
}
