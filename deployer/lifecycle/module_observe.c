/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster says about a module: its objects and its manager. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/drift.h"
#include "deployer/lifecycle/kind_watch.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/module_objects.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/synced.h"

bool module_has_object(const struct module *module, const char *key)
{
    return accepted_find(&module->accepted, key) != NULL;
}

enum module_answer module_content(const struct module *module, const json_t *manifest,
                                  const json_t **ret_objects, struct error *err)
{
    return module_store_objects(
        module->kyma->lifecycle->store, doc_text_or(manifest, "spec.install.source.name", ""),
        doc_text_or(manifest, "spec.install.source.ref", ""),
        strcmp(doc_text_or(manifest, "spec.install.source.type", ""), "oci-dir") == 0, ret_objects,
        err);
}

/* ---- The manager ---- */

void module_set_verdict(struct module_verdict **place, const struct state_verdict *verdict)
{
    size_t size = strlen(verdict->reason) + 1;

    free(*place);
    *place = xmalloc(sizeof(**place) + size);
    (*place)->state = verdict->state;
    memcpy((*place)->reason, verdict->reason, size);
    (*place)->generation = 0;
}

static void set_manager(struct module *module, const json_t *live,
                        const struct state_verdict *verdict)
{
    module_set_verdict(&module->manager, verdict);
    module->manager->generation = doc_integer_or(live, "metadata.generation", 0);
}

static void on_pods(void *data, json_t *answer, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *workload = module->workload;
    struct state_verdict verdict = {0};

    module->pods_call = NULL;
    module->workload = NULL;
    if (err->kind == ERROR_NONE) {
        verdict = manager_state(workload, json_array_get(doc_member(answer, "items"), 0));
        set_manager(module, workload, &verdict);
    }
    kyma_touch(module->kyma);
}

/* Without all replicas the first pod of a StatefulSet decides. */
static bool reads_pods(struct module *module, const json_t *live)
{
    cleanup_free char *selector = label_selector_text(doc_get(live, "spec.selector.matchLabels"));
    const struct kube_request request = {
        .verb = KUBE_LIST,
        .resource = KUBE_PODS,
        .namespace_name = doc_text_or(live, "metadata.namespace", ""),
        .label_selector = selector,
        .query = "limit=1",
        .on_done = on_pods,
        .data = module,
    };
    struct error ignored = {0};

    /* An answer about what it was before would hide what it is now. */
    kube_cancel(module->pods_call);
    module->pods_call = NULL;
    json_decref(module->workload);
    module->workload = NULL;
    if (doc_integer_or(live, "status.readyReplicas", 0) ==
            doc_integer_or(live, "spec.replicas", 1) ||
        !doc_get(live, "status.observedGeneration"))
        return false;
    module->workload = json_incref(doc_writable(live));
    return kube_start(cluster_kube(module->kyma->cluster), &request, &module->pods_call,
                      &ignored) == 0;
}

static bool is_manager(struct module *module, const struct object_ref *ref)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *manager = synced_manager(doc_get(manifest, "status.synced"));
    struct object_ref wanted = synced_ref(manager);
    bool is_same = manager && object_ref_is_same_name(&wanted, ref);

    object_ref_done(&wanted);
    return is_same;
}

static void look_at_manager(struct module *module, const struct object_ref *ref, const json_t *live)
{
    struct state_verdict verdict = {0};

    if (!is_manager(module, ref))
        return;
    if (!live) {
        free(module->manager);
        module->manager = NULL;
    } else if (strcmp(ref->kind, "StatefulSet") != 0 || !reads_pods(module, live)) {
        verdict = manager_state(live, NULL);
        set_manager(module, live, &verdict);
    }
    kyma_touch(module->kyma);
}

void module_on_answer(struct module *module, const struct object_ref *ref, const json_t *live)
{
    int64_t generation = doc_integer_or(live, "metadata.generation", 0);
    struct state_verdict verdict = {0};

    if (!synced_may_be_manager(ref) || !is_manager(module, ref))
        return;
    if (!module->manager) {
        look_at_manager(module, ref, live); /* the watch begins after it, without a list */
        return;
    }
    if (module->manager->generation >= generation ||
        doc_integer_or(live, "status.observedGeneration", 0) >= generation)
        return;
    kube_cancel(module->pods_call);
    module->pods_call = NULL;
    json_decref(module->workload);
    module->workload = NULL;
    verdict = manager_state(live, NULL);
    set_manager(module, live, &verdict);
}

/* ---- Objects ---- */

void module_set_dirty(struct module *module, const char *key)
{
    if (!module->dirty)
        module->dirty = json_object();
    if (json_object_get(module->dirty, key) && !module->apply)
        return;
    /* The answer to an apply that is under way may be older than what the watch has shown. */
    (void)json_object_set_new(module->dirty, key, json_boolean(module->apply != NULL));
    kyma_touch(module->kyma);
}

/* What a list of objects needs to know of the Manifest. A Manifest is parsed for the first object
 * of each version only: the lists of a cluster have dozens of objects. */
static const struct module_facts *facts_of(struct module *module)
{
    struct module_facts *facts = &module->facts;
    cleanup_json json_t *manifest = NULL;
    struct module_view view = {0};
    struct error ignored = {0};

    if (facts->content && facts->version > 0 && facts->version == module->manifest.version)
        return facts;
    manifest = kept_get(&module->manifest);
    view = module_view_of(manifest);
    *facts = (struct module_facts){
        .version = module->manifest.version,
        .is_observed = manifest && !view.is_deleting && !view.is_unmanaged,
        .has_images = json_array_size(doc_get(manifest, "spec.localizedImages")) > 0,
    };
    if (module_content(module, manifest, &facts->content, &ignored) != MODULE_ANSWER_KNOWN)
        facts->content = NULL;
    return facts;
}

/* Whether it is as the content of the module says. *ret_hash is that of the content, or NULL. */
static bool is_as_wanted(struct module *module, const struct object_ref *ref, const json_t *live,
                         const char *live_hash, char **ret_hash)
{
    const struct module_facts *facts = facts_of(module);
    const struct module_owner owner = module_owner_of(module);
    struct compared *compared = &module->kyma->lifecycle->compared;
    const char *known = NULL;
    cleanup_json json_t *manifest = facts->has_images ? kept_get(&module->manifest) : NULL;
    cleanup_json json_t *wanted = NULL;
    const json_t *found = NULL;
    struct error ignored = {0};

    if (!facts->content)
        return true; /* without its content nothing can be said */
    found = synced_find_object(facts->content, ref);
    if (found && !facts->has_images)
        known = compared_find(compared, found, live_hash);
    if (known) {
        *ret_hash = xstrdup(known);
        return true;
    }
    if (!found || module_object_in_cluster(found, &owner, manifest, &wanted, &ignored) < 0)
        return true;
    if (!ref->namespace_name)
        (void)json_object_del(json_object_get(wanted, "metadata"), "namespace");
    *ret_hash = drift_wanted_hash(wanted, &owner);
    if (!drift_is_covered(live, wanted))
        return false;
    if (!facts->has_images)
        compared_add(compared, found, live_hash, *ret_hash);
    return true;
}

static void note_live(struct module *module, const struct object_ref *ref, const char *key,
                      const json_t *live)
{
    const struct module_owner owner = module_owner_of(module);
    cleanup_free char *hash = drift_hash(live, &owner);
    cleanup_free char *wanted = NULL;

    if (accepted_is_live(&module->accepted, key, hash))
        return;
    if (module->applied_ref && !is_as_wanted(module, ref, live, hash, &wanted)) {
        log_info("object was changed by others", log_text("manifest", module->name),
                 log_text("kind", ref->kind), log_text("object", ref->name));
        accepted_set(&module->accepted, key, NULL, NULL);
        module_set_dirty(module, key);
        return;
    }
    accepted_set(&module->accepted, key, hash, wanted);
}

void module_on_object(struct module *module, const struct object_ref *ref, const json_t *live)
{
    cleanup_free char *key = object_ref_key(ref);
    bool was_there = module_has_object(module, key);
    const struct module_facts *facts = facts_of(module);

    /* After an update to another version of an API both are watched, and report the same object. */
    if (!facts->is_observed || synced_has_other_version(facts->content, ref))
        return;
    if (synced_may_be_manager(ref))
        look_at_manager(module, ref, live);
    if (live) {
        note_live(module, ref, key, live);
        return;
    }
    accepted_remove(&module->accepted, key);
    if (module->apply || (was_there && module->applied_ref && !module->is_pruning))
        module_set_dirty(module, key);
}

void module_on_list(struct module *module, const char *api_version, const char *kind,
                    const struct accepted *shown)
{
    cleanup_json json_t *manifest = NULL;
    size_t i;
    json_t *entry;

    if (!module->has_applied)
        return;
    manifest = kept_get(&module->manifest);
    json_array_foreach(doc_writable(doc_get(manifest, "status.synced")), i, entry)
    {
        struct object_ref ref = synced_ref(entry);
        cleanup_free char *key = object_ref_key(&ref);

        if (strcmp(ref.api_version, api_version) == 0 && strcmp(ref.kind, kind) == 0 &&
            module_has_object(module, key) && !accepted_find(shown, key))
            module_on_object(module, &ref, NULL);
        object_ref_done(&ref);
    }
}

void module_find_missing(struct module *module, const json_t *manifest)
{
    size_t i;
    json_t *entry;

    json_array_foreach(doc_writable(doc_get(manifest, "status.synced")), i, entry)
    {
        struct object_ref ref = synced_ref(entry);
        cleanup_free char *key = object_ref_key(&ref);

        if (!module_has_object(module, key) &&
            kind_watch_is_listed(module->kyma, ref.api_version, ref.kind))
            module_set_dirty(module, key);
        object_ref_done(&ref);
    }
}

void module_watch_kinds(struct module *module, const json_t *manifest, bool is_manager_only)
{
    const json_t *synced = doc_get(manifest, "status.synced");
    const json_t *manager = synced_manager(synced);
    const json_t *objects = NULL;
    struct error ignored = {0};
    size_t i;
    json_t *entry;

    /* Objects can be judged only with the content at hand. If it cannot be read, those that are
     * missing are found nevertheless. */
    if (!is_manager_only &&
        module_content(module, manifest, &objects, &ignored) == MODULE_ANSWER_WAIT)
        return;
    json_array_foreach(doc_writable(synced), i, entry)
    {
        struct object_ref ref = synced_ref(entry);
        cleanup_free char *key = object_ref_key(&ref);

        if (!is_manager_only || entry == manager)
            kind_watch_start(module->kyma, ref.api_version, ref.kind, objects,
                             module_has_object(module, key));
        object_ref_done(&ref);
    }
    if (is_manager_only)
        return;
    module->is_watching = true;
    module_watch_resource(module, manifest);
}
