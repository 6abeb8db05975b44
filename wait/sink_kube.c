/* SPDX-License-Identifier: Apache-2.0 */
/* All writes can be retried. The name of a chunk contains a new uuid, so "already exists" means
 * that an earlier attempt succeeded and its response was lost. The export is updated with the
 * resourceVersion that was read. Chunk 0 is written last, so a crash between two requests leaves no
 * generation that looks complete. */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/memory_trim.h"
#include "common/data/doc.h"
#include "common/data/names.h"
#include "common/kube/list.h"
#include "common/state/generation.h"
#include "wait/request.h"
#include "wait/secrets.h"
#include "wait/sink.h"

enum {
    EXPORT_ROUNDS_MAX = 20, /* attempts to update the export after conflicts */
    LIST_TIMEOUT_MS = 60000,
};

struct sink_kube {
    struct sink sink; /* first, so that the pointers can be converted */
    struct kube *kube;
    const struct deadline *deadline;
    const char *namespace_name;
    char *state_prefix, *export_name, *state_selector;
    const char *report_name;
    char item_hash[NAME_HASH_SIZE];
};

/* ---- the last generation ---- */

struct listing {
    const char *item_hash;
    struct state_set set;
    bool is_done;
    struct error err; /* ERROR_NONE: the list is complete */
};

static void on_item(void *data, const json_t *object, const struct error *err)
{
    struct listing *listing = data;

    (void)err;
    if (object && state_secret_is_of_item(object, listing->item_hash))
        state_set_add_secret(&listing->set, object);
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct listing *listing = data;

    (void)resource_version;
    listing->is_done = true;
    listing->err = *err;
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

static int list_state(struct sink_kube *self, struct listing *listing, struct error *err)
{
    struct kube_list *list = NULL;
    const struct kube_list_options options = {
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .label_selector = self->state_selector,
        .is_metadata_only = true,
        .on_item = on_item,
        .on_done = on_listed,
        .data = listing,
    };

    if (kube_list_start(self->kube, &options, &list, err) < 0)
        return -1;
    (void)error_set(&listing->err, ERROR_TEMPORARY, "timed out");
    (void)!deadline_run(self->deadline, &listing->is_done, LIST_TIMEOUT_MS, &listing->err);
    if (!listing->is_done)
        kube_list_cancel(list);
    if (listing->err.kind == ERROR_NONE)
        return 0;
    *err = listing->err;
    return -1;
}

/* Needed only under the Go controller, whose Role allows to list Secrets. Our controller passes the
 * last generation in the environment. */
static int read_last(struct sink *sink, struct last_generation *ret_last, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;
    struct listing listing = {.item_hash = self->item_hash};
    int result = list_state(self, &listing, err);

    if (result == 0)
        take_newest(&listing, ret_last);
    else
        (void)error_wrap(err, "list the state Secrets");
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

    memory_trim();
    if (request_perform(self->kube, self->deadline, &request, make_chunk, &chunk, NULL, err) == 0 ||
        err->kind == ERROR_EXISTS)
        return 0;
    return error_wrap(err, "chunk %lld of %lld", (long long)number + 1,
                      (long long)generation->summary->chunk_count);
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

    return request_perform(self->kube, self->deadline, &request, NULL, NULL, ret_secret, err);
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

    return request_perform(self->kube, self->deadline, &request, make_export, &export, NULL, err);
}

/* Updates the existing export Secret. ERROR_NOT_FOUND if there is none, ERROR_CANCELLED if a newer
 * run wrote it. */
static int replace_export(struct sink_kube *self, const struct origin *origin, const void *bytes,
                          size_t size, struct error *err)
{
    for (int round = 0; round < EXPORT_ROUNDS_MAX; round++) {
        cleanup_json json_t *existing = NULL;

        if (get_export(self, &existing, err) < 0)
            return -1;
        if (secret_export_is_newer(existing, origin))
            return error_set(err, ERROR_CANCELLED, "it was written by a newer run of this item");
        if (send_export(self, existing, origin, bytes, size, err) == 0)
            return 0;
        if (err->kind != ERROR_CONFLICT)
            return -1;
    }
    return error_wrap(err, "still changed by others after %d attempts", EXPORT_ROUNDS_MAX);
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
        /* Deleted between create and get: create it again. */
        if (err->kind != ERROR_NOT_FOUND)
            break;
    }
    return error_wrap(err, "write export Secret \"%s\"", self->export_name);
}

static int clear_exports(struct sink *sink, const struct origin *origin, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;

    if (replace_export(self, origin, "", 0, err) == 0 || err->kind == ERROR_NOT_FOUND)
        return 0;
    /* The export of a newer run can't be mistaken for ours. */
    if (err->kind == ERROR_CANCELLED)
        return 0;
    return error_wrap(err, "clear export Secret \"%s\" of an earlier run", self->export_name);
}

/* ---- progress ---- */

struct report {
    const char *name;
    const struct origin *origin;
    const struct save_progress *progress;
};

static json_t *make_report(const void *data)
{
    const struct report *report = data;

    return secret_report(report->name, report->origin, report->progress);
}

/* The Secret may be left over from an earlier run. It is replaced whatever it contains. */
static int report_progress(struct sink *sink, const struct origin *origin,
                           const struct save_progress *progress, struct error *err)
{
    struct sink_kube *self = (struct sink_kube *)sink;
    const struct report report = {
        .name = self->report_name, .origin = origin, .progress = progress};
    struct kube_request request = {
        .verb = KUBE_CREATE,
        .resource = KUBE_SECRETS,
        .namespace_name = self->namespace_name,
        .grace_seconds = -1,
    };

    if (request_perform(self->kube, self->deadline, &request, make_report, &report, NULL, err) == 0)
        return 0;
    if (err->kind == ERROR_EXISTS) {
        request.verb = KUBE_UPDATE;
        request.name = self->report_name;
        if (request_perform(self->kube, self->deadline, &request, make_report, &report, NULL,
                            err) == 0)
            return 0;
    }
    return error_wrap(err, "write Secret \"%s\"", self->report_name);
}

static void sink_kube_free(struct sink *sink)
{
    struct sink_kube *self = (struct sink_kube *)sink;

    free(self->state_prefix);
    free(self->export_name);
    free(self->state_selector);
    free(self);
}

struct sink *sink_kube_new(struct kube *kube, const struct settings *settings,
                           const struct deadline *deadline)
{
    static const struct sink_operations operations = {
        .read_last = read_last,
        .write_chunk = write_chunk,
        .put_exports = put_exports,
        .clear_exports = clear_exports,
        .report_progress = report_progress,
        .free = sink_kube_free,
    };
    struct sink_kube *self = xcalloc(1, sizeof(*self));

    self->sink.operations = &operations;
    self->kube = kube;
    self->deadline = deadline;
    self->namespace_name = settings->pod_namespace;
    self->report_name = settings->report_name;
    self->state_prefix = secret_state_prefix(settings->state_name_prefix, settings->item_namespace,
                                             settings->item_name);
    self->export_name = settings->export_name
                            ? xstrdup(settings->export_name)
                            : secret_export_name(settings->item_namespace, settings->item_name);
    self->state_selector = secret_state_selector(settings->item_namespace, settings->item_name);
    name_hash(settings->item_namespace, settings->item_name, self->item_hash);
    return &self->sink;
}
