/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/late_patch.h"

#include "common/apply/apply_internal.h"
#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* One object that is being patched. */
struct patching {
    struct late_patch *patch; /* NULL: this place is free */
    const struct plan_object *object;
    struct kube_call *call;
    const char *doing; /* for messages */
    int tries;
};

struct late_patch {
    struct late_patch_options options;
    struct cluster *cluster;
    struct loop_timer timer;
    size_t next, running;
    struct error err; /* of the first object that failed */
    struct patching places[APPLY_PARALLEL_MAX];
};

static void late_patch_free(struct late_patch *patch)
{
    for (size_t i = 0; i < APPLY_PARALLEL_MAX; i++)
        kube_cancel(patch->places[i].call);
    loop_timer_stop(&patch->timer);
    cluster_put(patch->cluster);
    free(patch);
}

static void end_patching(struct patching *patching, const struct error *err)
{
    struct late_patch *patch = patching->patch;

    if (err && patch->err.kind == ERROR_NONE)
        apply_message(patching->object, patching->doing, err, &patch->err);
    *patching = (struct patching){0};
    patch->running--;
    loop_timer_start(&patch->timer, 0);
}

static void send_request(struct patching *patching, enum kube_verb verb, const json_t *body,
                         kube_done_fn *on_done, const char *doing)
{
    const struct late_patch_options *options = &patching->patch->options;
    const struct object_ref *ref = &patching->object->ref;
    const struct kube_request request = {
        .verb = verb,
        .resource = kind_resource(&patching->object->kind),
        .namespace_name = ref->namespace_name,
        .name = ref->name,
        .body = body,
        .field_manager = verb == KUBE_GET ? NULL : options->field_manager,
        .may_send = options->may_send,
        .may_send_data = options->may_send_data,
        .on_done = on_done,
        .data = patching,
    };
    struct error err = {0};

    patching->doing = doing;
    if (kube_start(cluster_kube(patching->patch->cluster), &request, &patching->call, &err) < 0)
        end_patching(patching, &err);
}

static void on_read(void *data, json_t *object, const struct error *err);

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct patching *patching = data;

    (void)object;
    patching->call = NULL;
    if (err->kind == ERROR_CONFLICT && ++patching->tries < APPLY_TRIES_MAX)
        send_request(patching, KUBE_GET, NULL, on_read, "read");
    else
        end_patching(patching, err->kind == ERROR_NONE ? NULL : err);
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct patching *patching = data;
    cleanup_json json_t *wanted = NULL;

    patching->call = NULL;
    if (err->kind != ERROR_NONE) {
        end_patching(patching, err);
        return;
    }
    /* The server keeps it if it is missing. */
    (void)json_object_del(json_object_get(object, "metadata"), "managedFields");
    wanted = merge_objects(object, patching->object->patch_after, /* is_overwriting= */ true);
    if (merge_is_equal(object, wanted))
        end_patching(patching, NULL);
    else
        send_request(patching, KUBE_UPDATE, wanted, on_written, "patched");
}

static void begin(struct late_patch *patch, const struct plan_object *object)
{
    struct patching *patching = patch->places;

    while (patching->patch)
        patching++;
    *patching = (struct patching){.patch = patch, .object = object};
    patch->running++;
    send_request(patching, KUBE_GET, NULL, on_read, "read");
}

static void on_pump(void *data)
{
    struct late_patch *patch = data;
    const struct plan *plan = patch->options.plan;

    while (patch->next < plan->count && patch->running < APPLY_PARALLEL_MAX) {
        size_t i = patch->next++;

        if (patch->options.is_wanted[i] && plan->objects[i].patch_after)
            begin(patch, &plan->objects[i]);
    }
    if (patch->next == plan->count && patch->running == 0) {
        const struct late_patch_options options = patch->options;
        struct error err = patch->err;

        late_patch_free(patch);
        options.on_done(options.data, &err);
    }
}

int late_patch_start(const struct late_patch_options *options, struct late_patch **ret_patch,
                     struct error *err)
{
    struct late_patch *patch = NULL;

    if (!options->field_manager || !options->field_manager[0])
        return error_set(err, ERROR_INTERNAL, "late patch: field manager is missing");
    patch = xcalloc(1, sizeof(*patch));
    patch->options = *options;
    patch->cluster = cluster_ref(options->cluster);
    loop_timer_init(&patch->timer, kube_loop(cluster_kube(patch->cluster)), on_pump, patch);
    loop_timer_start(&patch->timer, 0);
    *ret_patch = patch;
    return 0;
}

void late_patch_cancel(struct late_patch *patch)
{
    if (patch)
        late_patch_free(patch);
}

char *late_patch_describe(const struct late_patch *patch)
{
    for (size_t i = 0; i < APPLY_PARALLEL_MAX; i++) {
        const struct patching *patching = &patch->places[i];

        if (patching->patch) {
            cleanup_free char *name = object_ref_text(&patching->object->ref);

            return xasprintf("%s waits for a response of server \"%s\"", name,
                             cluster_server(patch->cluster));
        }
    }
    return NULL;
}
