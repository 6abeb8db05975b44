/* SPDX-License-Identifier: Apache-2.0 */
#include "common/state/save.h"

#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/digest.h"

struct summing {
    struct digest *digest;
    const struct state_listener *listener;
};

static int sum_bytes(void *data, const void *bytes, size_t size, struct error *err)
{
    const struct summing *summing = data;

    (void)err;
    digest_update(summing->digest, bytes, size);
    return 0;
}

static void pass_skip(void *data, const char *path, const char *kind)
{
    const struct summing *summing = data;

    if (summing->listener && summing->listener->on_skip)
        summing->listener->on_skip(summing->listener->data, path, kind);
}

static void pass_progress(const struct state_listener *listener)
{
    if (listener && listener->on_progress)
        listener->on_progress(listener->data);
}

static void pass_first_progress(void *data)
{
    const struct summing *summing = data;

    pass_progress(summing->listener);
}

int state_summarize(int state_fd, const struct state_listener *listener,
                    struct state_summary *ret_summary, struct error *err)
{
    cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
    struct summing summing = {.digest = digest, .listener = listener};
    const struct pack_options options = {.limits = &ARCHIVE_LIMITS_STATE,
                                         .write = sum_bytes,
                                         .on_skip = pass_skip,
                                         .on_progress = pass_first_progress,
                                         .data = &summing};
    struct state_summary summary = {0};
    struct pack_counts counts = {0};
    char hex[DIGEST_HEX_MAX];

    if (pack_tree(state_fd, &options, &counts, err) < 0)
        return -1;
    digest_hex(digest, hex);
    memcpy(summary.sha256, hex, sizeof(summary.sha256));
    summary.packed_bytes = counts.packed_bytes;
    summary.files = counts.files;
    summary.bytes = counts.bytes;
    summary.chunk_count =
        (int64_t)((counts.packed_bytes + STATE_CHUNK_BYTES - 1) / STATE_CHUNK_BYTES);
    *ret_summary = summary;
    return 0;
}

struct cutting {
    const struct state_summary *summary;
    const struct state_listener *listener;
    state_chunk_fn *write;
    void *data;
    struct digest *digest;
    struct buffer first, current; /* chunk 0 is kept until all others are written */
    int64_t number;               /* of the chunk being filled */
};

static void cutting_done(struct cutting *cutting)
{
    digest_free(cutting->digest);
    buffer_done(&cutting->first);
    buffer_done(&cutting->current);
}
#define cleanup_cutting __attribute__((cleanup(cutting_done)))

static int set_changed(struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "the state changed while it was stored");
}

/* Writes the current chunk. More chunks than in the first pass mean that the directory changed. */
static int end_chunk(struct cutting *cutting, struct error *err)
{
    if (cutting->number >= cutting->summary->chunk_count)
        return set_changed(err);
    if (cutting->number > 0 && cutting->write(cutting->data, cutting->number, cutting->current.data,
                                              cutting->current.size, err) < 0)
        return -1;
    cutting->number++;
    buffer_clear(&cutting->current);
    return 0;
}

static int cut_bytes(void *data, const void *bytes, size_t size, struct error *err)
{
    struct cutting *cutting = data;
    const char *from = bytes;

    digest_update(cutting->digest, bytes, size);
    while (size) {
        struct buffer *chunk = cutting->number ? &cutting->current : &cutting->first;
        size_t room = STATE_CHUNK_BYTES - chunk->size;
        size_t taken = size < room ? size : room;

        if (room ? buffer_append(chunk, from, taken, err) < 0 : end_chunk(cutting, err) < 0)
            return -1;
        from += taken;
        size -= taken;
    }
    return 0;
}

static void pass_second_progress(void *data)
{
    const struct cutting *cutting = data;

    pass_progress(cutting->listener);
}

int state_write_chunks(int state_fd, const struct state_summary *summary,
                       const struct state_listener *listener, state_chunk_fn *write, void *data,
                       struct error *err)
{
    cleanup_cutting struct cutting cutting = {
        .summary = summary, .listener = listener, .write = write, .data = data};
    const struct pack_options options = {.limits = &ARCHIVE_LIMITS_STATE,
                                         .write = cut_bytes,
                                         .on_progress = pass_second_progress,
                                         .data = &cutting};
    struct pack_counts counts = {0};
    char hex[DIGEST_HEX_MAX];

    cutting.digest = digest_new(DIGEST_SHA256);
    buffer_init(&cutting.first, STATE_CHUNK_BYTES);
    buffer_init(&cutting.current, STATE_CHUNK_BYTES);
    if (pack_tree(state_fd, &options, &counts, err) < 0)
        return -1;
    /* Checked before the last chunk and chunk 0 are written. */
    digest_hex(cutting.digest, hex);
    if (strcmp(hex, summary->sha256) != 0)
        return set_changed(err);
    if (end_chunk(&cutting, err) < 0)
        return -1;
    return write(data, 0, cutting.first.data, cutting.first.size, err);
}

static void put_number(json_t *annotations, const char *key, int64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    (void)json_object_set_new(annotations, key, json_string(text));
}

static void put_text(json_t *annotations, const char *key, const char *text)
{
    if (text)
        (void)json_object_set_new(annotations, key, json_string(text));
}

json_t *state_chunk_annotations(const struct state_summary *summary, int64_t number,
                                const char *uuid, int64_t sequence, const char *job,
                                const char *pod_uid)
{
    json_t *annotations = json_object();

    put_text(annotations, ANNOTATION_STATE_UUID, uuid);
    put_number(annotations, ANNOTATION_STATE_NUMBER, number);
    put_number(annotations, ANNOTATION_STATE_CHUNKS, summary->chunk_count);
    put_text(annotations, ANNOTATION_STATE_SHA256, summary->sha256);
    put_number(annotations, ANNOTATION_STATE_SEQUENCE, sequence);
    put_number(annotations, ANNOTATION_STATE_BYTES, (int64_t)summary->packed_bytes);
    put_text(annotations, ANNOTATION_JOB, job);
    put_text(annotations, ANNOTATION_POD_UID, pod_uid);
    return annotations;
}
