/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the objects of a module: kinds are found, the list of objects is recorded in the
 * Manifest, they are applied, and recorded objects that the module no longer has are removed. A
 * crash at any point leaves a list that has every object that may exist. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/drift.h"
#include "deployer/lifecycle/kind_watch.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/manifest_status.h"
#include "deployer/lifecycle/module_objects.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/synced.h"

struct module_owner module_owner_of(const struct module *module)
{
    return (struct module_owner){
        .namespace_name = module->kyma->lifecycle->options.namespace_name,
        .manifest_name = module->name,
    };
}

struct apply_owner module_owner_mark(struct module *module)
{
    if (!module->owner_text)
        module->owner_text =
            xasprintf("%s/%s", module->kyma->lifecycle->options.namespace_name, module->name);
    return (struct apply_owner){
        .label_key = KYMA_LABEL_MANAGED_BY,
        .label_value = KYMA_MANAGED_BY_CLUSTER,
        .annotation_key = KYMA_ANNOTATION_OWNED_BY,
        .annotation_value = module->owner_text,
    };
}

/* ---- After the objects ---- */

static void accept_results(struct module *module, const struct apply_result *result)
{
    const struct module_owner owner = module_owner_of(module);

    module->has_applied = true;
    for (size_t i = 0; i < result->count; i++) {
        const struct plan_object *object = &module->plan->objects[i];
        cleanup_free char *key = object_ref_key(&object->ref);
        cleanup_free char *live = NULL, *wanted = NULL;

        if (result->objects[i].outcome == APPLY_FAILED) {
            module_set_dirty(module, key);
            continue;
        }
        if (json_is_true(json_object_get(module->dirty, key))) {
            (void)json_object_set_new(module->dirty, key, json_false());
            continue; /* somebody has changed or deleted it since */
        }
        live = drift_hash(result->objects[i].object, &owner);
        wanted = drift_wanted_hash(object->manifest, &owner);
        accepted_set(&module->accepted, key, live, wanted);
        (void)json_object_del(module->dirty, key);
        module_on_answer(module, &object->ref, result->objects[i].object);
        module->kyma->lifecycle->cluster_writes++;
    }
}

static bool is_marked(const json_t *object)
{
    const char *value =
        json_string_value(doc_member(doc_get(object, "metadata.labels"), KYMA_LABEL_MANAGED_BY));

    return value && strcmp(value, KYMA_MANAGED_BY_CLUSTER) == 0;
}

/* Watches the kind of an object with all objects of this kind, or nothing if an earlier object has
 * the same kind. */
static void watch_kind_of(struct module *module, const struct apply_result *result, size_t index)
{
    const struct plan_object *planned = module->plan->objects;
    cleanup_json json_t *same = json_array();

    for (size_t i = 0; i < result->count; i++) {
        if (strcmp(planned[i].ref.kind, planned[index].ref.kind) != 0 ||
            strcmp(planned[i].ref.api_version, planned[index].ref.api_version) != 0)
            continue;
        if (i < index)
            return;
        /* One that was left alone may have no label. Then the watch does not show it. */
        if (is_marked(result->objects[i].object))
            json_array_append(same, result->objects[i].object);
    }
    if (json_array_size(same) > 0)
        kind_watch_applied(module->kyma, &planned[index].ref, &planned[index].kind, same);
}

/* How bad the worst failure is: a cluster that is away says nothing about the module. */
static void find_cause(const struct apply_result *result, struct error *ret_err)
{
    static const int ranks[] = {
        [FAILURE_UNAUTHORIZED] = 5, [FAILURE_NETWORK] = 4, [FAILURE_BUSY] = 3,
        [FAILURE_OBJECT] = 2,       [FAILURE_CONTENT] = 1, [FAILURE_NONE] = 0,
    };
    const struct error *worst = NULL;

    apply_result_error(result, ret_err);
    for (size_t i = 0; i < result->count; i++) {
        const struct error *err = &result->objects[i].error;

        if (result->objects[i].outcome == APPLY_FAILED &&
            (!worst || ranks[failure_classify(err)] > ranks[failure_classify(worst)]))
            worst = err;
    }
    if (!worst)
        return;
    ret_err->kind = worst->kind == ERROR_INVALID ? ERROR_CONFLICT : worst->kind;
    ret_err->http_status = worst->http_status;
}

static void finish(struct module *module)
{
    module_set_applied(module, module->work_ref);
    module_succeeded(module);
}

/* Objects that the module no longer has. */
static void prune(struct module *module)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    cleanup_json json_t *applied = synced_of_plan(module->plan);
    cleanup_json json_t *unchanged = synced_of_plan(module->unchanged);
    cleanup_json json_t *now = synced_union(applied, unchanged);
    cleanup_json json_t *orphans = synced_minus(doc_get(manifest, "status.synced"), now);

    module->is_watching = false; /* another version may have other kinds */
    if (json_array_size(orphans) == 0) {
        finish(module);
        return;
    }
    module_set_applied(module, module->work_ref);
    plan_free(module->plan);
    plan_free(module->unchanged);
    module->plan = module->unchanged = NULL;
    inventory_done(&module->inventory);
    module->inventory = (struct inventory){0};
    module->is_pruning = true;
    loop_timer_start(&module->removal_timer, LIFECYCLE_REMOVAL_MS);
    module_remove_objects(module, orphans);
}

static void on_applied(void *data, struct apply_result *result)
{
    struct module *module = data;
    struct error err = {0};

    module->apply = NULL;
    accept_results(module, result);
    for (size_t i = 0; i < result->count; i++)
        watch_kind_of(module, result, i);
    if (result->failed > 0)
        find_cause(result, &err);
    apply_result_free(result);
    if (err.kind == ERROR_NONE)
        kyma_heard(module->kyma);
    if (err.kind != ERROR_NONE) {
        /* All were tried: only those that failed are tried again, and then all once more. */
        if (!module->is_dirty_only && failure_classify(&err) == FAILURE_OBJECT) {
            module_set_applied(module, module->work_ref);
            module->is_partial = true;
        }
        module_fail(module, &err);
    } else if (module->is_dirty_only) {
        if (module->is_partial)
            module_set_applied(module, NULL);
        module->is_partial = false;
        module_succeeded(module);
    } else {
        prune(module);
    }
}

/* The cluster has it already, made of the same content, and nobody has changed it since: between
 * two versions of a module most objects are the same. */
static bool is_unchanged(const struct module *module, const struct plan_object *object)
{
    cleanup_free char *key = object_ref_key(&object->ref);
    const struct module_owner owner = module_owner_of(module);
    cleanup_free char *wanted = drift_wanted_hash(object->manifest, &owner);

    return !module->is_dirty_only && !json_object_get(module->dirty, key) &&
           accepted_is(&module->accepted, key, wanted);
}

/* Moves the objects of the plan that are unchanged to a plan of their own. */
static struct plan *take_unchanged(const struct module *module, struct plan *plan)
{
    struct plan *taken = xcalloc(1, sizeof(*taken));
    size_t left = 0;

    taken->objects = xcalloc(plan->count + 1, sizeof(*taken->objects));
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_object object = plan->objects[i];

        if (is_unchanged(module, &object))
            taken->objects[taken->count++] = object;
        else
            plan->objects[left++] = object;
    }
    plan->count = left;
    return taken;
}

static void start_apply(struct module *module)
{
    const struct apply_options options = {
        .cluster = module->kyma->cluster,
        .plan = module->plan,
        .recorded = &module->inventory,
        .strategy = STRATEGY_APPLY,
        .owner = module_owner_mark(module),
        .field_manager = KYMA_FIELD_MANAGER_APPLIER,
        .may_send = kyma_may_send,
        .may_send_data = module->kyma,
        .on_done = on_applied,
        .data = module,
    };
    const struct inventory none = {0};
    struct error err = {0};
    const char *key;
    json_t *value;

    doc_foreach(module->dirty, key, value)
    {
        (void)json_object_set_new(module->dirty, key,
                                  json_false()); /* it is older than the apply */
    }
    module->unchanged = take_unchanged(module, module->plan);
    module->inventory = plan_record(module->plan, &none);
    if (apply_start(&options, &module->apply, &err) < 0)
        module_fail(module, &err);
}

/* ---- The record ---- */

static void on_recorded(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    module->call = NULL;
    if (err->kind != ERROR_NONE) {
        struct error cause = *err;

        if (err->kind == ERROR_CONFLICT)
            cause.kind = ERROR_CANCELLED; /* the Manifest was changed: soon again */
        module_fail(module, &cause);
        return;
    }
    kept_take_answer(&module->manifest, object);
    start_apply(module);
}

static void record(struct module *module)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    cleanup_json json_t *planned = synced_of_plan(module->plan);
    const json_t *before = doc_get(manifest, "status.synced");
    cleanup_json json_t *all = synced_union(before, planned);
    struct module_view view = module_view_of(manifest);
    cleanup_json json_t *status = NULL, *body = NULL;

    if (json_array_size(all) > 0 && json_equal(all, doc_writable(before))) {
        start_apply(module);
        return;
    }
    status = manifest_status(&(struct manifest_observation){
        .manifest = manifest,
        .state = MODULE_PROCESSING,
        .operation = "waiting for resources to become ready",
        .are_resources_parsed = true,
        .has_resource = view.wants_resource,
        .is_resource_created = view.is_resource_created,
        .synced = all,
        .now_unix_ms = clock_unix_ms(loop_clock(module->kyma->lifecycle->loop)),
    });
    body = json_pack("{s:{s:s}, s:O}", "metadata", "resourceVersion",
                     doc_text_or(manifest, "metadata.resourceVersion", ""), "status", status);
    module_drop_call(module);
    module->call = control_plane_write(sender_for_kyma(module->kyma), KUBE_PATCH_MERGE,
                                       RESOURCE_MANIFESTS, module->name, "status", body,
                                       KYMA_FIELD_MANAGER_APPLIER, on_recorded, module);
}

/* ---- The plan ---- */

static void on_planned(void *data, struct plan *plan, const struct error *err)
{
    struct module *module = data;

    module->planning = NULL;
    if (!plan) {
        module_fail(module, err);
        return;
    }
    module->plan = plan;
    record(module);
}

static bool is_dirty(const struct module *module, const json_t *synced, const json_t *object)
{
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(synced), i, entry)
    {
        struct object_ref ref = synced_ref(entry);
        cleanup_free char *key = object_ref_key(&ref);
        bool is_found =
            json_object_get(module->dirty, key) && synced_find_object(object, &ref) != NULL;

        object_ref_done(&ref);
        if (is_found)
            return true;
    }
    return false;
}

int module_object_in_cluster(const json_t *object, const struct module_owner *owner,
                             const json_t *manifest, json_t **ret_copy, struct error *err)
{
    if (module_object_for(object, owner, doc_get(manifest, "spec.localizedImages"), ret_copy, err) <
        0)
        return error_wrap(err, "%s %s", doc_text_or(object, "kind", ""),
                          doc_text_or(object, "metadata.name", ""));
    /* The plan drops it for kinds without namespaces. */
    if (!*doc_text_or(*ret_copy, "metadata.namespace", ""))
        doc_set_text(*ret_copy, "metadata.namespace", "default");
    return 0;
}

struct plan_input module_plan_input(const json_t *object)
{
    return (struct plan_input){
        .manifest = object,
        .policy =
            strcmp(doc_text_or(object, "kind", ""), "Namespace") == 0 ? POLICY_KEEP : POLICY_MANAGE,
        .source = doc_text_or(object, "metadata.name", ""),
    };
}

static int collect(struct module *module, const json_t *manifest, const json_t *objects,
                   json_t *ret_list, struct error *err)
{
    const struct module_owner owner = module_owner_of(module);
    size_t i;
    json_t *object;

    json_array_foreach(doc_writable(objects), i, object)
    {
        cleanup_json json_t *single = json_pack("[O]", object);
        json_t *copy = NULL;

        if (module->is_dirty_only && !is_dirty(module, doc_get(manifest, "status.synced"), single))
            continue;
        if (module_object_in_cluster(object, &owner, manifest, &copy, err) < 0)
            return -1;
        json_array_append_new(ret_list, copy);
    }
    return 0;
}

void module_apply(struct module *module, const json_t *manifest, const json_t *objects,
                  bool is_dirty_only)
{
    cleanup_json json_t *list = json_array();
    cleanup_free struct plan_input *inputs = NULL;
    struct planning *planning = NULL;
    struct error err = {0};
    size_t count = 0;

    module->is_dirty_only = is_dirty_only;
    free(module->work_ref);
    module->work_ref = xstrdup(doc_text_or(manifest, "spec.install.source.ref", ""));
    if (collect(module, manifest, objects, list, &err) < 0) {
        module_fail(module, &err);
        return;
    }
    count = json_array_size(list);
    inputs = xcalloc(count + 1, sizeof(*inputs));
    for (size_t i = 0; i < count; i++)
        inputs[i] = module_plan_input(json_array_get(list, i));
    if (is_dirty_only && count == 0) {
        /* Recorded, but not part of the content, as after a record that could not be written: then
         * everything is compared, and what is left over is removed. */
        (void)json_object_clear(module->dirty);
        module_set_applied(module, NULL);
        kyma_touch(module->kyma);
        return;
    }
    if (plan_start(module->kyma->cluster, inputs, count, on_planned, module, &planning, &err) < 0)
        module_fail(module, &err);
    else if (planning)
        module->planning = planning;
}
