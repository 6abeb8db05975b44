/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of store.h: a real volume in a temporary directory, and a sink that records what it
 * gets. */
#pragma once

#include "common/base/memory.h"
#include "scratch.h"
#include "wait/store.h"

struct memory_sink {
    struct sink sink;
    char order[64]; /* chunk numbers as they came, "e" for exports, "c" for cleared */
    char uuid[UUID_TEXT_SIZE];
    char exports[64];
    size_t bytes;
    int finished, uuids, asked;
    enum error_kind chunk_failure, export_failure; /* ERROR_NONE: none */
    void (*on_chunk)(struct scratch *scratch);     /* changes made by main in the meantime */
    struct scratch *scratch;
};

static inline int write_chunk(struct sink *sink, const struct generation *generation,
                              int64_t number, const void *bytes, size_t size, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)bytes;
    if (self->chunk_failure != ERROR_NONE)
        return error_set(err, self->chunk_failure, "the sink is full");
    (void)snprintf(self->order + used, sizeof(self->order) - used, "%lld", (long long)number);
    self->bytes += size;
    if (strcmp(self->uuid, generation->uuid) != 0)
        self->uuids++;
    memcpy(self->uuid, generation->uuid, sizeof(self->uuid));
    if (self->on_chunk) {
        void (*on_chunk)(struct scratch *) = self->on_chunk;

        self->on_chunk = NULL;
        on_chunk(self->scratch);
    }
    return 0;
}

static inline int finish_generation(struct sink *sink, const struct generation *generation,
                                    struct error *err)
{
    (void)generation;
    (void)err;
    ((struct memory_sink *)sink)->finished++;
    return 0;
}

static inline int put_exports(struct sink *sink, const struct origin *origin, const void *bytes,
                              size_t size, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)origin;
    if (self->export_failure != ERROR_NONE)
        return error_set(err, self->export_failure, "no exports today");
    (void)snprintf(self->order + used, sizeof(self->order) - used, "e");
    (void)snprintf(self->exports, sizeof(self->exports), "%.*s", (int)size, (const char *)bytes);
    return 0;
}

static inline int clear_exports(struct sink *sink, const struct origin *origin, struct error *err)
{
    struct memory_sink *self = (struct memory_sink *)sink;
    size_t used = strlen(self->order);

    (void)origin;
    (void)err;
    (void)snprintf(self->order + used, sizeof(self->order) - used, "c");
    return 0;
}

static const struct sink_operations operations = {
    .write_chunk = write_chunk,
    .finish_generation = finish_generation,
    .put_exports = put_exports,
    .clear_exports = clear_exports,
};

struct fixture {
    struct scratch *scratch;
    struct memory_sink sink;
    struct volume volume;
    struct loop *loop;
    struct observed observed;
    struct deadline deadline;
    struct origin origin;
    struct last_generation last;
    struct store store;
};

static inline int set_up(void **state)
{
    struct fixture *fixture = xcalloc(1, sizeof(*fixture));
    void *scratch = NULL;
    struct error err = {0};
    cleanup_free char *state_path = NULL;
    cleanup_free char *exports_path = NULL;

    if (scratch_set_up(&scratch) < 0)
        return -1;
    fixture->scratch = scratch;
    if (mkdirat(fixture->scratch->fd, "state", 0700) < 0 ||
        mkdirat(fixture->scratch->fd, "exports", 0700) < 0)
        return -1;
    state_path = xasprintf("%s/state", fixture->scratch->path);
    exports_path = xasprintf("%s/exports/values", fixture->scratch->path);
    fixture->volume = (struct volume)VOLUME_INIT;
    if (volume_open(state_path, exports_path, &fixture->volume, &err) < 0 ||
        loop_new(clock_system(), &fixture->loop, &err) < 0)
        return -1;
    fixture->sink.sink.operations = &operations;
    fixture->sink.scratch = fixture->scratch;
    fixture->observed = (struct observed){.end = {.kind = MAIN_ENDED}, .grace_ms = 300000};
    fixture->deadline = (struct deadline){.loop = fixture->loop, .observed = &fixture->observed};
    fixture->origin = (struct origin){
        .item_name = "i", .item_namespace = "n", .job = "", .pod_uid = "", .sequence = 8};
    fixture->last.sequence = 7;
    fixture->store = (struct store){.sink = &fixture->sink.sink,
                                    .volume = &fixture->volume,
                                    .deadline = &fixture->deadline,
                                    .origin = &fixture->origin,
                                    .last = &fixture->last};
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *fixture = *state;
    void *scratch = fixture->scratch;

    volume_done(&fixture->volume);
    loop_free(fixture->loop);
    (void)scratch_tear_down(&scratch);
    free(fixture);
    return 0;
}

static inline void write_noise(struct scratch *scratch, const char *path, size_t size)
{
    cleanup_free unsigned char *noise = xmalloc(size);
    uint32_t seed = 1;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        noise[i] = (unsigned char)(seed >> 24);
    }
    scratch_write(scratch, path, noise, size);
}

static inline void write_zeros(struct scratch *scratch, const char *path, off_t size)
{
    int fd = openat(scratch->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    (void)close(fd);
}

static inline void append(struct scratch *scratch)
{
    int fd = openat(scratch->fd, "state/noise", O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "more", 4), 4);
    (void)close(fd);
}
