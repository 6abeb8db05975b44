/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/plan.h"

#include <string.h>

#include "common/apply/plan_check.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* Manifests whose kinds are being looked up, one after the other. Kinds that are known are found at
 * once, so that this costs nothing but the requests that are needed anyway. */
struct planning {
    struct cluster *cluster;
    struct plan *plan; /* not sorted yet */
    size_t next;       /* the object whose kind is looked up */
    struct kind_set *extra;
    struct cluster_lookup *lookup;
    bool is_advancing;
    struct summary invalid, unknown;
    struct error err; /* ends the planning */
    plan_done_fn *on_done;
    void *data;
};

static void object_done(struct plan_object *object)
{
    json_decref(object->manifest);
    object_ref_done(&object->ref);
    kind_done(&object->kind);
    json_decref(object->annotate_before_create);
    json_decref(object->annotate_before_delete);
    json_decref(object->patch_after);
    json_decref(object->patch_before_delete);
    free(object->source);
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++)
        object_done(&plan->objects[i]);
    for (size_t i = 0; i < plan->ignored_count; i++)
        object_ref_done(&plan->ignored[i]);
    free(plan->objects);
    free(plan->ignored);
    free(plan);
}

static void planning_free(struct planning *planning)
{
    cluster_lookup_cancel(planning->lookup);
    plan_free(planning->plan);
    kind_set_free(planning->extra);
    summary_done(&planning->invalid);
    summary_done(&planning->unknown);
    cluster_put(planning->cluster);
    free(planning);
}

/* ---- Input ---- */

static json_t *share(const json_t *value)
{
    return json_incref(doc_writable(value));
}

static void add_object(void *data, const struct plan_input *input, const json_t *manifest,
                       const char *source)
{
    struct planning *planning = data;
    struct plan *plan = planning->plan;

    if (input->policy == POLICY_IGNORE) {
        plan->ignored =
            xreallocarray(plan->ignored, plan->ignored_count + 1, sizeof(*plan->ignored));
        plan->ignored[plan->ignored_count++] = object_ref_of(manifest);
        return;
    }
    plan->objects = xreallocarray(plan->objects, plan->count + 1, sizeof(*plan->objects));
    plan->objects[plan->count++] = (struct plan_object){
        .manifest = share(manifest),
        .ref = object_ref_of(manifest),
        .policy = input->policy,
        .annotate_before_create = share(input->annotate_before_create),
        .annotate_before_delete = share(input->annotate_before_delete),
        .patch_after = share(input->patch_after),
        .patch_before_delete = share(input->patch_before_delete),
        .source = xstrdup(source),
    };
    kind_set_add_crd(planning->extra, manifest);
}

/* ---- Kinds ---- */

static void take_kind(struct planning *planning, struct plan_object *object,
                      const struct kind *kind)
{
    cleanup_free char *field = xasprintf("%s.metadata.namespace", object->source);
    bool has_namespace = object->ref.namespace_name && object->ref.namespace_name[0];

    object->kind = kind_copy(kind);
    if (kind_is_crd(object->ref.api_version, object->ref.kind))
        object->group = PLAN_CRDS;
    else
        object->group = kind->is_namespaced ? PLAN_NAMESPACED : PLAN_CLUSTER_SCOPED;
    if (kind->is_namespaced && !has_namespace) {
        summary_add_field(&planning->invalid, field,
                          "required, because objects of kind %s belong to "
                          "a namespace; no default is used",
                          object->ref.kind);
    } else if (!kind->is_namespaced && object->ref.namespace_name) {
        json_t *copy = json_deep_copy(object->manifest);

        (void)json_object_del(json_object_get(copy, "metadata"), "namespace");
        json_decref(object->manifest);
        object->manifest = copy;
        free(object->ref.namespace_name);
        object->ref.namespace_name = NULL;
    }
}

static void take_result(struct planning *planning, const struct kind *kind, const struct error *err)
{
    struct plan_object *object = &planning->plan->objects[planning->next++];

    if (kind)
        take_kind(planning, object, kind);
    else if (err->kind == ERROR_NOT_FOUND)
        summary_add_field(&planning->unknown, object->source, "%s", err->text);
    else if (err->kind == ERROR_INVALID)
        summary_add_field(&planning->invalid, object->source, "%s", err->text);
    else
        planning->err = *err;
}

/* By group, otherwise in the same order. */
static void sort_objects(struct plan *plan)
{
    struct plan_object *sorted = xcalloc(plan->count + 1, sizeof(*sorted));
    size_t count = 0;

    for (size_t group = 0; group < PLAN_GROUPS; group++) {
        for (size_t i = 0; i < plan->count; i++) {
            if (plan->objects[i].group == group)
                sorted[count++] = plan->objects[i];
        }
    }
    free(plan->objects);
    plan->objects = sorted;
}

/* Two objects that differ only in a namespace that was dropped. */
static void find_twins(struct planning *planning)
{
    cleanup_json json_t *seen = json_object();

    for (size_t i = 0; i < planning->plan->count; i++) {
        const struct plan_object *object = &planning->plan->objects[i];

        plan_check_twin(seen, &object->ref, object->source, &planning->invalid);
    }
}

/* Calls on_done and frees the planning. */
static void finish(struct planning *planning)
{
    struct plan *plan = NULL;
    struct error err = planning->err;

    if (err.kind == ERROR_NONE)
        find_twins(planning);
    if (err.kind == ERROR_NONE)
        summary_error(&planning->invalid, ERROR_INVALID, &err);
    if (err.kind == ERROR_NONE)
        summary_error(&planning->unknown, ERROR_NOT_FOUND, &err);
    if (err.kind == ERROR_NONE) {
        plan = steal(&planning->plan);
        sort_objects(plan);
    }
    planning->on_done(planning->data, plan, &err);
    planning_free(planning);
}

static void on_kind(void *data, const struct kind *kind, const struct error *err);

/* Returns whether all kinds were looked up, or an error makes further ones pointless. */
static bool advance(struct planning *planning)
{
    bool is_waiting = false;

    planning->is_advancing = true;
    while (planning->next < planning->plan->count && planning->err.kind == ERROR_NONE &&
           !is_waiting) {
        const struct plan_object *object = &planning->plan->objects[planning->next];
        struct error err = {0};

        if (cluster_find_kind(planning->cluster, planning->extra, object->ref.api_version,
                              object->ref.kind, on_kind, planning, &planning->lookup, &err) < 0)
            take_result(planning, NULL, &err);
        is_waiting = planning->lookup != NULL;
    }
    planning->is_advancing = false;
    return !is_waiting;
}

static void on_kind(void *data, const struct kind *kind, const struct error *err)
{
    struct planning *planning = data;

    planning->lookup = NULL;
    take_result(planning, kind, err);
    if (!planning->is_advancing && advance(planning))
        finish(planning);
}

int plan_start(struct cluster *cluster, const struct plan_input *inputs, size_t count,
               plan_done_fn *on_done, void *data, struct planning **ret_planning, struct error *err)
{
    struct planning *planning = xcalloc(1, sizeof(*planning));

    (void)err;
    *ret_planning = NULL;
    planning->cluster = cluster_ref(cluster);
    planning->plan = xcalloc(1, sizeof(*planning->plan));
    planning->extra = kind_set_new();
    planning->on_done = on_done;
    planning->data = data;
    plan_expand(inputs, count, add_object, planning, &planning->invalid);
    if (planning->invalid.count > 0 || advance(planning))
        finish(planning);
    else
        *ret_planning = planning;
    return 0;
}

void planning_cancel(struct planning *planning)
{
    if (planning)
        planning_free(planning);
}

/* ---- What is recorded ---- */

struct inventory plan_record(const struct plan *plan, const struct inventory *before)
{
    struct inventory recorded = inventory_copy(before);

    for (size_t i = 0; i < plan->ignored_count; i++)
        inventory_remove(&recorded, &plan->ignored[i]);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_object *object = &plan->objects[i];
        const json_t *metadata = doc_member(object->manifest, "metadata");

        (void)inventory_add(&recorded,
                            (struct inventory_entry){
                                .ref = object_ref_copy(&object->ref),
                                .policy = object->policy,
                                .is_crd = object->group == PLAN_CRDS,
                                .is_namespaced = object->group == PLAN_NAMESPACED,
                                .annotate_before_delete = share(object->annotate_before_delete),
                                .patch_before_delete = share(object->patch_before_delete),
                                .own_finalizers = share(doc_member(metadata, "finalizers")),
                                .own_owners = share(doc_member(metadata, "ownerReferences")),
                                .is_new = true,
                            });
    }
    return recorded;
}
