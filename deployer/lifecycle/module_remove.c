/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the objects that a module has in a cluster, or hands them over. Only what is recorded in
 * the Manifest counts: the registry is not needed. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/manifest_status.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/synced.h"

/* ---- Objects ---- */

static void remove_group(struct module *module);

static void on_recorded(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;
    struct error cause = *err;

    module->call = NULL;
    if (err->kind == ERROR_NONE)
        kept_take_answer(&module->manifest, object);
    if (err->kind == ERROR_CONFLICT && module->is_pruning)
        cause.kind = ERROR_CANCELLED; /* the Manifest was changed: soon again */
    /* What was not recorded is found gone the next time. */
    if (cause.kind == ERROR_NONE || cause.kind == ERROR_CONFLICT || cause.kind == ERROR_NOT_FOUND)
        module_succeeded(module);
    else
        module_fail(module, &cause);
}

static void record_rest(struct module *module)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    cleanup_json json_t *left = synced_minus(doc_get(manifest, "status.synced"), module->list);
    cleanup_json json_t *body =
        json_pack("{s:{s:s}, s:{s:O}}", "metadata", "resourceVersion",
                  doc_text_or(manifest, "metadata.resourceVersion", ""), "status", "synced", left);

    module_drop_call(module);
    module->call = control_plane_write(sender_for_kyma(module->kyma), KUBE_PATCH_MERGE,
                                       RESOURCE_MANIFESTS, module->name, "status", body,
                                       KYMA_FIELD_MANAGER_APPLIER, on_recorded, module);
}

static void on_removed(void *data, const struct object_ref *ref, enum removal_verdict verdict)
{
    struct module *module = data;
    cleanup_free char *key = object_ref_key(ref);

    accepted_remove(&module->accepted, key);
    if (verdict != REMOVAL_DELETE)
        log_info("object is left alone", log_text("manifest", module->name),
                 log_text("kind", ref->kind), log_text("object", ref->name),
                 log_text("reason", removal_verdict_text(verdict)));
}

static void on_group_removed(void *data)
{
    struct module *module = data;

    module->removal = NULL;
    inventory_done(&module->inventory);
    module->inventory = (struct inventory){0};
    if (module->is_removing_last) {
        record_rest(module);
        return;
    }
    module->is_removing_last = true;
    remove_group(module);
}

static void remove_group(struct module *module)
{
    const struct removal_options options = {
        .cluster = module->kyma->cluster,
        .groups = REMOVAL_DEFAULT_GROUPS,
        .group_count = 3,
        .entries = &module->inventory,
        .owner = module_owner_mark(module),
        .field_manager = KYMA_FIELD_MANAGER_APPLIER,
        .may_send = kyma_may_send,
        .may_send_data = module->kyma,
        .on_removed = on_removed,
        .on_done = on_group_removed,
        .data = module,
    };
    struct error err = {0};

    module->inventory = synced_inventory(module->list, module->is_removing_last);
    if (removal_start(&options, &module->removal, &err) < 0)
        module_fail(module, &err);
    else if (!loop_timer_is_running(&module->removal_timer))
        loop_timer_start(&module->removal_timer, LIFECYCLE_REMOVAL_MS);
}

void module_remove_objects(struct module *module, const json_t *list)
{
    json_t *copy = json_deep_copy(list);

    json_decref(module->list);
    module->list = copy;
    module->is_removing_last = false;
    remove_group(module);
}

/* ---- Handing over ---- */

static void hand_over_next(struct module *module);

static void on_handed_over(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    (void)object;
    if (!module_end_call(module, err))
        return;
    module->next_entry++;
    hand_over_next(module);
}

static void on_kind_to_hand_over(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    struct object_ref ref = synced_ref(json_array_get(module->list, module->next_entry));
    cleanup_json json_t *body =
        json_pack("{s:{s:{s:n}}}", "metadata", "labels", KYMA_LABEL_MANAGED_BY);
    struct kube_request request = {
        .verb = KUBE_PATCH_MERGE,
        .namespace_name = ref.namespace_name,
        .name = ref.name,
        .body = body,
        .field_manager = KYMA_FIELD_MANAGER_APPLIER,
        .may_send = kyma_may_send,
        .may_send_data = module->kyma,
        .on_done = on_handed_over,
        .data = module,
    };
    struct error failure = {0};

    module->lookup = NULL;
    if (kind) {
        request.resource = kind_resource(kind);
        module_drop_call(module);
        if (kube_start(cluster_kube(module->kyma->cluster), &request, &module->call, &failure) < 0)
            module_fail(module, &failure);
    } else if (err->kind == ERROR_NOT_FOUND) {
        module->next_entry++;
        hand_over_next(module);
    } else {
        module_fail(module, err);
    }
    object_ref_done(&ref);
}

static void drop_label_finalizer(struct module *module)
{
    static const char *const none[] = {NULL};
    static const char *const label[] = {MANIFEST_LABEL_FINALIZER, NULL};
    cleanup_json json_t *manifest = kept_get(&module->manifest);

    module_write_finalizers(module, manifest, none, label);
}

static void hand_over_next(struct module *module)
{
    struct object_ref ref = {0};
    struct error err = {0};

    if (module->next_entry >= json_array_size(module->list)) {
        json_decref(module->list);
        module->list = NULL;
        drop_label_finalizer(module);
        return;
    }
    ref = synced_ref(json_array_get(module->list, module->next_entry));
    if (cluster_find_kind(module->kyma->cluster, NULL, ref.api_version, ref.kind,
                          on_kind_to_hand_over, module, &module->lookup, &err) < 0)
        module_fail(module, &err);
    object_ref_done(&ref);
}

void module_hand_over(struct module *module, const json_t *manifest)
{
    const json_t *resource = doc_get(manifest, "spec.resource");
    struct object_ref ref = object_ref_of(resource);

    module->list = json_deep_copy(doc_get(manifest, "status.synced"));
    if (!module->list)
        module->list = json_array();
    if (json_is_object(resource))
        json_array_append_new(module->list, synced_entry(&ref));
    object_ref_done(&ref);
    module->next_entry = 0;
    hand_over_next(module);
}
