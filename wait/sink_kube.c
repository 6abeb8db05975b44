/* SPDX-License-Identifier: Apache-2.0 */
/* Every write can be repeated: chunks have a name that nobody else can have, so "exists" after a
 * lost answer means stored; the export carries the version that was read. So a crash or a lost
 * answer between any two requests leaves nothing that a later run takes for whole. */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/kube/watch.h"
#include "common/state/generation.h"
#include "wait/request.h"
#include "wait/secrets.h"
#include "wait/sink.h"
#include "wait/thrift.h"

enum {
    EXPORT_ROUNDS_MAX = 20, /* read, write, conflict, again */
    LIST_PATIENCE_MS = 60000,
};

struct sink_kube {
    struct sink sink; /* first, so that the one is the other */
    struct kube *kube;
    const struct patience *patience;
    const char *namespace_name;
    char *state_prefix, *export_name, *state_selector;
    char item_hash[NAME_HASH_SIZE];
};

/* ---- what is there ---- */

struct listing {
    struct kube_watch *watch; /* NULL once the list is complete */
    const char *item_hash;
    struct state_set set;
    bool is_complete, is_failed;
    struct error err;
};

static void on_listed(void *data, enum kube_event event, const json_t *object,
                      const struct error *err)
{
    struct listing *listing = data;

    switch (event) {
    case KUBE_EVENT_LISTING:
        state_set_done(&listing->set);
        listing->set = (struct state_set){0};
        break;
    case KUBE_EVENT_LISTED:
        if (state_secret_is_of_item(object, listing->item_hash))
            state_set_add_secret(&listing->set, object);
        break;
    case KUBE_EVENT_SYNCED:
        listing->is_complete = true;
        kube_watch_stop(steal(&listing->watch)); /* before it asks for what comes next */
        break;
    case KUBE_EVENT_BROKEN:
        listing->err = *err;
        /* A list that is denied stays denied; other trouble passes. */
        listing->is_failed = err->kind == ERROR_DENIED;
        break;
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
    case KUBE_EVENT_DELETED:
    case KUBE_EVENT_REWOUND:
        break;
    }
}

static void take_newest(struct listing *listing, struct last_generation *ret_last)
{
    const struct state_generation *newest = NULL;

    state_set_arrange(&listing->set);
    newest = state_set_newest(&listing->set);
    *ret_last = (struct last_generation){.sequence = state_set_last_sequence(&listing->set)};
    if (newest && newest->sha256)
        (void)snprintf(ret_last->sha256, sizeof(ret_last->sha256), "%s", newest->sha256);
}

/* Only under Go's controller, whose Role lets us list Secrets: metadata alone, page by page. */
static int read_last(struct sink *sink, struct last_generation *ret_last, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;
    struct loop *loop = kube_loop(self->kube);
    struct listing listing = {.item_hash = self->item_hash};
    uint64_t until_ms = loop_now_ms(loop) + LIST_PATIENCE_MS;
    int result = 0;
    struct kube_watch_options options = {
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .label_selector = self->state_selector,
        .is_metadata_only = true,
        .on_event = on_listed,
        .data = &listing,
    };

    if (kube_watch_start(self->kube, &options, &listing.watch, err) < 0)
        return -1;
    while (result == 0 && !listing.is_complete && !listing.is_failed &&
           loop_now_ms(loop) < until_ms)
        result = loop_run_once(loop, 1000, err);
    kube_watch_stop(listing.watch);
    if (result == 0 && listing.is_complete) {
        take_newest(&listing, ret_last);
    } else if (result == 0) {
        if (listing.err.kind == ERROR_NONE)
            (void)error_set(&listing.err, ERROR_TEMPORARY, "no answer in time");
        *err = listing.err;
        result = error_wrap(err, "list the state Secrets");
    }
    state_set_done(&listing.set);
    return result;
}

/* ---- state ---- */

struct chunk {
    const char *prefix;
    const struct generation *generation;
    int64_t number;
    const void *bytes;
    size_t size;
};

static json_t *make_chunk(const void *data)
{
    const struct chunk *chunk = data;

    return secret_state_chunk(chunk->prefix, chunk->generation, chunk->number, chunk->bytes,
                              chunk->size);
}

static int write_chunk(struct sink *sink, const struct generation *generation, int64_t number,
                       const void *bytes, size_t size, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;
    const struct chunk chunk = {
        .prefix = self->state_prefix,
        .generation = generation,
        .number = number,
        .bytes = bytes,
        .size = size,
    };
    const struct kube_request request = {
        .verb = KUBE_CREATE,
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .grace_seconds = -1,
    };

    thrift_give_back();
    if (request_perform(self->kube, self->patience, &request, make_chunk, &chunk, NULL, err) == 0 ||
        err->kind == ERROR_EXISTS)
        return 0;
    return error_wrap(err, "chunk %lld of %lld", (long long)number + 1,
                      (long long)generation->summary->chunk_count);
}

static int finish_generation(struct sink *sink, const struct generation *generation,
                             struct error *err)
{
    (void)sink;
    (void)generation;
    (void)err;
    return 0; /* the last chunk made it whole */
}

/* ---- exports ---- */

static int get_export(struct sink_kube *self, json_t **ret_secret, struct error *err)
{
    struct kube_request request = {
        .verb = KUBE_GET,
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .name = self->export_name,
        .grace_seconds = -1,
    };

    return request_perform(self->kube, self->patience, &request, NULL, NULL, ret_secret, err);
}

struct export
{
    const char *name;
    const json_t *existing;
    const struct origin *origin;
    const void *bytes;
    size_t size;
};

static json_t *make_export(const void *data)
{
    const struct export *export = data;

    return secret_export(export->name, export->existing, export->origin, export->bytes,
                         export->size);
}

static int send_export(struct sink_kube *self, const json_t *existing, const struct origin *origin,
                       const void *bytes, size_t size, struct error *err)
{
    const struct export export = {.name = self->export_name,
                                  .existing = existing,
                                  .origin = origin,
                                  .bytes = bytes,
                                  .size = size};
    const struct kube_request request = {
        .verb = existing ? KUBE_UPDATE : KUBE_CREATE,
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .name = existing ? self->export_name : NULL,
        .grace_seconds = -1,
    };

    return request_perform(self->kube, self->patience, &request, make_export, &export, NULL, err);
}

/* Writes over what an earlier run left; ERROR_NOT_FOUND if there is nothing. */
static int replace_export(struct sink_kube *self, const struct origin *origin, const void *bytes,
                          size_t size, struct error *err)
{
    for (int round = 0; round < EXPORT_ROUNDS_MAX; round++) {
        cleanup_json json_t *existing = NULL;

        if (get_export(self, &existing, err) < 0)
            return -1;
        if (secret_export_is_newer(existing, origin))
            return error_set(err, ERROR_CANCELLED, "a newer run of this item has written it");
        if (send_export(self, existing, origin, bytes, size, err) == 0)
            return 0;
        if (err->kind != ERROR_CONFLICT)
            return -1;
    }
    return error_wrap(err, "changed again and again by somebody else");
}

static int put_exports(struct sink *sink, const struct origin *origin, const void *bytes,
                       size_t size, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;

    for (int round = 0; round < EXPORT_ROUNDS_MAX; round++) {
        if (send_export(self, NULL, origin, bytes, size, err) == 0)
            return 0;
        if (err->kind == ERROR_EXISTS && replace_export(self, origin, bytes, size, err) == 0)
            return 0;
        /* Removed between the two: make it anew. */
        if (err->kind != ERROR_NOT_FOUND)
            break;
    }
    return error_wrap(err, "write export Secret '%s'", self->export_name);
}

static int clear_exports(struct sink *sink, const struct origin *origin, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;

    if (replace_export(self, origin, "", 0, err) == 0 || err->kind == ERROR_NOT_FOUND)
        return 0;
    /* A newer run's export is nothing that could be taken for ours. */
    if (err->kind == ERROR_CANCELLED)
        return 0;
    return error_wrap(err, "empty export Secret '%s' of an earlier run", self->export_name);
}

static int report(struct sink *sink, const struct observed *observed,
                  const struct state_outcome *state, const struct export_outcome *exports,
                  struct error *err)
{
    (void)sink;
    (void)observed;
    (void)state;
    (void)exports;
    (void)err;
    return 0; /* exit code and termination message are the report */
}

static void sink_kube_free(struct sink *sink)
{
    struct sink_kube *self = (struct sink_kube *)sink;

    free(self->state_prefix);
    free(self->export_name);
    free(self->state_selector);
    free(self);
}

int sink_kube_new(struct kube *kube, const struct settings *settings,
                  const struct patience *patience, struct sink **ret_sink, struct error *err)
{
    static const struct sink_operations operations = {
        .read_last = read_last,
        .write_chunk = write_chunk,
        .finish_generation = finish_generation,
        .put_exports = put_exports,
        .clear_exports = clear_exports,
        .report = report,
        .free = sink_kube_free,
    };
    struct sink_kube *self = xcalloc(1, sizeof(*self));

    (void)err;
    self->sink.operations = &operations;
    self->kube = kube;
    self->patience = patience;
    self->namespace_name = settings->pod_namespace;
    self->state_prefix = secret_state_prefix(settings->state_name_prefix, settings->item_namespace,
                                             settings->item_name);
    self->export_name = settings->export_name
                            ? xstrdup(settings->export_name)
                            : secret_export_name(settings->item_namespace, settings->item_name);
    self->state_selector = secret_state_selector(settings->item_namespace, settings->item_name);
    name_hash(settings->item_namespace, settings->item_name, self->item_hash);
    *ret_sink = &self->sink;
    return 0;
}
