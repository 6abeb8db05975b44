/* SPDX-License-Identifier: Apache-2.0 */
#include "wait/store.h"

#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/log.h"
#include "common/contract.h"
#include "wait/export.h"

enum {
    ROUNDS_MAX = 60, /* attempts to pack a state that main is still changing */
    ROUND_PAUSE_MS = 500,
    SKIPS_LOGGED_MAX = 20, /* main controls how many there are */
    /* The Go deployer takes the generation that was created last, and creation times have seconds.
     */
    SNAPSHOT_DISTANCE_MS = 1100,
};

int64_t store_sequence(int64_t given, int64_t last, int64_t pod_created_unix_seconds)
{
    if (given > 0)
        return given;
    return last + 1 > pod_created_unix_seconds ? last + 1 : pod_created_unix_seconds;
}

int64_t store_snapshot_sequence(int64_t given, int64_t last)
{
    return given - 1 > last ? given - 1 : 0;
}

/* One pass over the state directory. */
struct pass {
    const struct store *store;
    int64_t skipped;        /* entries */
    int64_t stored, chunks; /* chunks; 0 in the first pass */
};

static void on_skip(void *data, const char *path, const char *kind)
{
    struct pass *pass = data;

    if (++pass->skipped <= SKIPS_LOGGED_MAX)
        log_info("not stored: state may have only files, directories and symlinks",
                 log_text("path", path), log_text("kind", kind));
}

static void on_progress(void *data)
{
    const struct pass *pass = data;

    if (pass->store->on_progress)
        pass->store->on_progress(pass->store->data, pass->stored, pass->chunks);
}

static int summarize(const struct store *store, int state_fd, struct state_summary *ret_summary,
                     struct error *err)
{
    struct pass pass = {.store = store};
    struct state_listener listener = {
        .on_skip = on_skip, .on_progress = on_progress, .data = &pass};
    int result = state_summarize(state_fd, &listener, ret_summary, err);

    if (pass.skipped > SKIPS_LOGGED_MAX)
        log_info("more entries of the state were not stored",
                 log_number("count", pass.skipped - SKIPS_LOGGED_MAX));
    return result;
}

struct writing {
    struct pass pass;
    const struct generation *generation;
    struct state_outcome *outcome;
};

static int write_chunk(void *data, int64_t number, const void *bytes, size_t size,
                       struct error *err)
{
    struct writing *writing = data;
    const struct store *store = writing->pass.store;

    if (store->is_obsolete && store->is_obsolete(store->data))
        return error_set(err, ERROR_CANCELLED, "main has changed the state since");
    on_progress(&writing->pass);
    writing->outcome->may_be_complete = number == 0;
    writing->pass.stored++;
    return store->sink->operations->write_chunk(store->sink, writing->generation, number, bytes,
                                                size, err);
}

static int store_generation(const struct store *store, int state_fd,
                            const struct state_summary *summary, struct state_outcome *outcome,
                            struct error *err)
{
    struct generation generation = {.origin = store->origin, .summary = summary};
    struct writing writing = {.pass = {.store = store, .chunks = summary->chunk_count},
                              .generation = &generation,
                              .outcome = outcome};
    struct state_listener listener = {.on_progress = on_progress, .data = &writing.pass};

    uuid_make(generation.uuid);
    if (state_write_chunks(state_fd, summary, &listener, write_chunk, &writing, err) < 0)
        return -1;
    if (!store->sink->operations->finish_generation)
        return 0;
    return store->sink->operations->finish_generation(store->sink, &generation, err);
}

static bool has_snapshot(const struct store *store)
{
    return store->snapshot && store->snapshot->outcome.delivery == DELIVERY_STORED;
}

static bool may_have_snapshot(const struct store *store)
{
    return has_snapshot(store) || (store->snapshot && store->snapshot->outcome.may_be_complete);
}

/* Whether the newest generation has this state already. False if it is not known which one that is.
 */
static bool is_stored(const struct store *store, struct state_outcome *outcome)
{
    if (!may_have_snapshot(store))
        return strcmp(outcome->sha256, store->last->sha256) == 0;
    if (!has_snapshot(store) || strcmp(outcome->sha256, store->snapshot->outcome.sha256) != 0)
        return false;
    *outcome = store->snapshot->outcome;
    return true;
}

/* Lets the creation times of the snapshot and of the next generation differ. */
static int keep_distance(const struct store *store, struct error *err)
{
    uint64_t from_ms = store->snapshot->ended_at_ms + SNAPSHOT_DISTANCE_MS;
    uint64_t now_ms = loop_now_ms(store->deadline->loop);

    return now_ms < from_ms ? deadline_run(store->deadline, NULL, from_ms - now_ms, err) : 0;
}

static int try_once(const struct store *store, struct state_outcome *outcome, struct error *err)
{
    struct state_summary summary = {0};
    cleanup_close int state_fd =
        beneath_open_directory(store->volume->state.root_fd, store->volume->state.path, err);

    if (state_fd < 0 || summarize(store, state_fd, &summary, err) < 0)
        return -1;
    *outcome = (struct state_outcome){
        .delivery = DELIVERY_UNCHANGED,
        .sequence = store->last->sequence,
        .chunks = summary.chunk_count,
        .files = summary.files,
        .bytes = summary.bytes,
        .packed_bytes = summary.packed_bytes,
    };
    memcpy(outcome->sha256, summary.sha256, sizeof(outcome->sha256));
    if (is_stored(store, outcome))
        return 0;
    if (may_have_snapshot(store) && keep_distance(store, err) < 0)
        return -1;
    outcome->delivery = DELIVERY_STORED;
    outcome->sequence = store->origin->sequence;
    return store_generation(store, state_fd, &summary, outcome, err);
}

static void set_failed(const struct store *store, struct error *err,
                       struct state_outcome *ret_outcome)
{
    (void)error_wrap(err, "$" ENV_STATE_PATH);
    *ret_outcome = (struct state_outcome){
        .delivery = DELIVERY_FAILED,
        .snapshot_sequence = has_snapshot(store) ? store->snapshot->outcome.sequence : 0,
        .err = *err,
    };
}

void store_snapshot(const struct store *store, struct state_outcome *ret_outcome)
{
    struct error err = {0};
    bool may_be_complete = false;
    int64_t chunks = 0;

    *ret_outcome = (struct state_outcome){0};
    if (try_once(store, ret_outcome, &err) == 0)
        return;
    may_be_complete = ret_outcome->may_be_complete;
    chunks = ret_outcome->chunks;
    set_failed(store, &err, ret_outcome);
    ret_outcome->may_be_complete = may_be_complete;
    ret_outcome->chunks = chunks;
}

void store_state(const struct store *store, struct state_outcome *ret_outcome)
{
    struct error err = {0};

    for (int round = 1;; round++) {
        struct error ignored = {0};

        if (try_once(store, ret_outcome, &err) == 0)
            return;
        /* The state changes while it is packed only if main is still running. */
        if (err.kind != ERROR_CONFLICT || round >= ROUNDS_MAX ||
            deadline_left_ms(store->deadline, ROUND_PAUSE_MS) < ROUND_PAUSE_MS)
            break;
        log_info("the state changed while it was packed, retrying", log_text("error", err.text));
        if (deadline_run(store->deadline, NULL, ROUND_PAUSE_MS, &ignored) < 0)
            break;
    }
    set_failed(store, &err, ret_outcome);
}

void store_exports(const struct store *store, struct export_outcome *ret_outcome)
{
    const struct sink_operations *operations = store->sink->operations;
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};
    int result = export_read(&store->volume->exports, &bytes, &err);

    *ret_outcome = (struct export_outcome){0};
    if (result == 0) {
        ret_outcome->delivery = DELIVERY_STORED;
        ret_outcome->bytes = bytes.size;
        result = operations->put_exports(store->sink, store->origin, bytes.data, bytes.size, &err);
    } else if (err.kind == ERROR_NOT_FOUND) {
        ret_outcome->delivery = DELIVERY_NONE;
        result = operations->clear_exports(store->sink, store->origin, &err);
    }
    if (result == 0)
        return;
    *ret_outcome = (struct export_outcome){.delivery = DELIVERY_FAILED, .err = err};
}
