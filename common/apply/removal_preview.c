/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/removal_preview.h"

#include <stdlib.h>

#include "common/apply/removal_group.h"
#include "common/base/loop.h"
#include "common/base/memory.h"

struct removal_preview {
    struct removal_preview_options options;
    struct cluster *cluster;
    struct removal_forecast *forecasts;
    size_t next;
    struct loop_timer timer;
    struct cluster_lookup *lookup;
    struct kube_call *call;
};

void removal_forecasts_free(struct removal_forecast *forecasts, size_t count)
{
    for (size_t i = 0; forecasts && i < count; i++)
        json_decref(forecasts[i].live);
    free(forecasts);
}

static void preview_free(struct removal_preview *preview)
{
    cluster_lookup_cancel(preview->lookup);
    kube_cancel(preview->call);
    loop_timer_stop(&preview->timer);
    removal_forecasts_free(preview->forecasts, preview->options.entries->count);
    cluster_put(preview->cluster);
    free(preview);
}

void removal_preview_cancel(struct removal_preview *preview)
{
    if (preview)
        preview_free(preview);
}

static const struct inventory_entry *current_entry(const struct removal_preview *preview)
{
    return &preview->options.entries->entries[preview->next];
}

static void go_on(struct removal_preview *preview)
{
    preview->next++;
    loop_timer_start(&preview->timer, 0);
}

/* What does not exist cannot be removed, and neither can an object of an unknown kind. */
static void note_failure(struct removal_preview *preview, const struct error *err)
{
    cleanup_free char *name = object_ref_text(&current_entry(preview)->ref);
    struct error *failure = &preview->forecasts[preview->next].error;

    if (err->kind != ERROR_NOT_FOUND) {
        *failure = *err;
        (void)error_wrap(failure, "%s: cannot be read", name);
    }
    go_on(preview);
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct removal_preview *preview = data;
    const struct inventory_entry *entry = current_entry(preview);
    struct removal_forecast *forecast = &preview->forecasts[preview->next];

    preview->call = NULL;
    if (err->kind != ERROR_NONE) {
        note_failure(preview, err);
        return;
    }
    forecast->live = json_incref(object);
    forecast->verdict = removal_judge(entry, object, &preview->options.owner);
    forecast->is_taken = removal_group_of(preview->options.groups, preview->options.group_count,
                                          &entry->ref) != REMOVAL_NO_GROUP;
    go_on(preview);
}

static void on_kind(void *data, const struct kind *kind, const struct error *err)
{
    struct removal_preview *preview = data;
    const struct object_ref *ref = &current_entry(preview)->ref;
    struct kube_request request = {
        .verb = KUBE_GET, .name = ref->name, .on_done = on_read, .data = preview};
    struct error cause = {0};

    preview->lookup = NULL;
    if (!kind) {
        note_failure(preview, err);
        return;
    }
    request.resource = kind_resource(kind);
    request.namespace_name = kind->is_namespaced ? ref->namespace_name : NULL;
    if (kube_start(cluster_kube(preview->cluster), &request, &preview->call, &cause) < 0)
        note_failure(preview, &cause);
}

static void on_next(void *data)
{
    struct removal_preview *preview = data;
    const struct object_ref *ref = NULL;
    struct error err = {0};

    if (preview->next == preview->options.entries->count) {
        void (*on_done)(void *data, struct removal_forecast *forecasts) = preview->options.on_done;
        void *owner = preview->options.data;
        struct removal_forecast *forecasts = steal(&preview->forecasts);

        preview_free(preview);
        on_done(owner, forecasts);
        return;
    }
    ref = &current_entry(preview)->ref;
    if (cluster_find_kind(preview->cluster, NULL, ref->api_version, ref->kind, on_kind, preview,
                          &preview->lookup, &err) < 0)
        note_failure(preview, &err);
}

struct removal_preview *removal_preview_start(const struct removal_preview_options *options)
{
    struct removal_preview *preview = xcalloc(1, sizeof(*preview));

    preview->options = *options;
    preview->cluster = cluster_ref(options->cluster);
    preview->forecasts = xcalloc(options->entries->count + 1, sizeof(*preview->forecasts));
    loop_timer_init(&preview->timer, kube_loop(cluster_kube(preview->cluster)), on_next, preview);
    loop_timer_start(&preview->timer, 0);
    return preview;
}
