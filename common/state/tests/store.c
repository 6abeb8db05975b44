/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/tests/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

void store_init(struct store *store)
{
    *store = (struct store){.fails_after = -1, .unreadable_from = -1};
}

void store_done(struct store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        json_decref(store->chunks[i].secret);
        buffer_done(&store->chunks[i].bytes);
    }
    free(store->chunks);
    store_init(store);
}

static void add(struct store *store, const char *uuid, int64_t number, json_t *annotations,
                const void *bytes, size_t size)
{
    cleanup_free char *name = xasprintf("%s-%lld", uuid, (long long)number);
    cleanup_free char *created = xasprintf("2026-01-01T00:00:%02dZ", store->creation++);
    struct stored stored = {.secret = json_object()};
    struct error err = {0};

    doc_set_text(stored.secret, "metadata.name", name);
    doc_set_text(stored.secret, "metadata.creationTimestamp", created);
    doc_set_new(stored.secret, "metadata.annotations", annotations);
    buffer_init(&stored.bytes, STATE_CHUNK_BYTES);
    assert_int_equal(buffer_append(&stored.bytes, bytes, size, &err), 0);
    store->chunks = xreallocarray(store->chunks, store->count + 1, sizeof(*store->chunks));
    store->chunks[store->count++] = stored;
}

int store_write(void *data, int64_t number, const void *bytes, size_t size, struct error *err)
{
    struct store *store = data;
    size_t used = strlen(store->order);

    if (store->fails_after == 0)
        return error_set(err, ERROR_TEMPORARY, "the sink is gone");
    store->fails_after--;
    (void)snprintf(store->order + used, sizeof(store->order) - used, "%lld ", (long long)number);
    add(store, store->uuid, number,
        state_chunk_annotations(store->summary, number, store->uuid, store->sequence, "job", "pod"),
        bytes, size);
    return 0;
}

int store_save(struct store *store, int state_fd, const char *uuid, int64_t sequence,
               struct error *err)
{
    struct state_summary summary = {0};

    if (state_summarize(state_fd, NULL, &summary, err) < 0)
        return -1;
    store->summary = &summary;
    store->uuid = uuid;
    store->sequence = sequence;
    store->order[0] = '\0';
    return state_write_chunks(state_fd, &summary, NULL, store_write, store, err);
}

void store_add_go(struct store *store, const char *uuid, int number, const void *bytes, size_t size)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", number);
    add(store, uuid, number,
        json_pack("{s:s, s:s}", ANNOTATION_STATE_UUID, uuid, ANNOTATION_STATE_NUMBER, text), bytes,
        size);
}

struct state_set store_set(const struct store *store)
{
    struct state_set set = {0};

    for (size_t i = 0; i < store->count; i++)
        state_set_add_secret(&set, store->chunks[i].secret);
    state_set_arrange(&set);
    return set;
}

static int read_chunk(void *data, const struct state_chunk *chunk, struct buffer *ret_bytes,
                      struct error *err)
{
    struct store *store = data;

    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(doc_text_or(store->chunks[i].secret, "metadata.name", ""), chunk->object) != 0)
            continue;
        if (store->unreadable_from >= 0 && (int)i >= store->unreadable_from)
            return error_set(err, store->unreadable_kind, "can't be read");
        return buffer_append(ret_bytes, store->chunks[i].bytes.data, store->chunks[i].bytes.size,
                             err);
    }
    return error_set(err, ERROR_NOT_FOUND, "no such chunk");
}

struct state_source store_source(struct store *store)
{
    return (struct state_source){.read_chunk = read_chunk, .data = store};
}
