/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster says about a module: its objects, its manager, its resource. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/drift.h"
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

static void set_verdict(struct state_verdict **place, struct state_verdict verdict)
{
    if (!*place)
        *place = xcalloc(1, sizeof(**place));
    **place = verdict;
}

static void on_pods(void *data, json_t *answer, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *workload = module->workload;

    module->pods_call = NULL;
    module->workload = NULL;
    if (err->kind == ERROR_NONE)
        set_verdict(&module->manager,
                    manager_state(workload, json_array_get(doc_member(answer, "items"), 0)));
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

    if (doc_integer_or(live, "status.readyReplicas", 0) ==
            doc_integer_or(live, "spec.replicas", 1) ||
        !doc_get(live, "status.observedGeneration"))
        return false;
    kube_cancel(module->pods_call);
    json_decref(module->workload);
    module->workload = json_incref(doc_writable(live));
    return kube_start(cluster_kube(module->kyma->cluster), &request, &module->pods_call,
                      &ignored) == 0;
}

static void look_at_manager(struct module *module, const json_t *manifest,
                            const struct object_ref *ref, const json_t *live)
{
    const json_t *manager = synced_manager(doc_get(manifest, "status.synced"));
    struct object_ref wanted = synced_ref(manager);
    bool is_manager = manager && object_ref_is_same_name(&wanted, ref);

    object_ref_done(&wanted);
    if (!is_manager)
        return;
    if (!live) {
        free(module->manager);
        module->manager = NULL;
    } else if (strcmp(ref->kind, "StatefulSet") != 0 || !reads_pods(module, live)) {
        set_verdict(&module->manager, manager_state(live, NULL));
    }
    kyma_touch(module->kyma);
}

/* ---- Objects ---- */

static void set_dirty(struct module *module, const char *key)
{
    if (!module->dirty)
        module->dirty = json_object();
    (void)json_object_set_new(module->dirty, key, json_true());
    kyma_touch(module->kyma);
}

/* Whether it is as the content of the module says. *ret_hash is that of the content, or NULL. */
static bool is_as_wanted(const struct module *module, const json_t *manifest,
                         const struct object_ref *ref, const json_t *live, char **ret_hash)
{
    const struct module_owner owner = {
        .namespace_name = module->kyma->lifecycle->options.namespace_name,
        .manifest_name = module->name,
    };
    const json_t *objects = NULL;
    cleanup_json json_t *wanted = NULL;
    const json_t *found = NULL;
    struct error ignored = {0};

    if (module_content(module, manifest, &objects, &ignored) != MODULE_ANSWER_KNOWN)
        return true; /* without its content nothing can be said */
    found = synced_find_object(objects, ref);
    if (!found || module_object_in_cluster(found, &owner, manifest, &wanted, &ignored) < 0)
        return true;
    if (!ref->namespace_name)
        (void)json_object_del(json_object_get(wanted, "metadata"), "namespace");
    *ret_hash = merge_hash(wanted);
    return drift_is_covered(live, wanted);
}

static void note_live(struct module *module, const json_t *manifest, const struct object_ref *ref,
                      const char *key, const json_t *live)
{
    cleanup_free char *hash = drift_hash(live);
    cleanup_free char *wanted = NULL;

    if (accepted_is_live(&module->accepted, key, hash))
        return;
    if (module->applied_ref && !is_as_wanted(module, manifest, ref, live, &wanted)) {
        log_info("object was changed by others", log_text("manifest", module->name),
                 log_text("kind", ref->kind), log_text("object", ref->name));
        accepted_set(&module->accepted, key, NULL, NULL);
        set_dirty(module, key);
        return;
    }
    accepted_set(&module->accepted, key, hash, wanted);
}

void module_on_object(struct module *module, const struct object_ref *ref, const json_t *live)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    struct module_view view = module_view_of(manifest);
    cleanup_free char *key = object_ref_key(ref);
    bool was_there = module_has_object(module, key);

    if (!manifest || view.is_deleting || view.is_unmanaged)
        return;
    look_at_manager(module, manifest, ref, live);
    if (live) {
        note_live(module, manifest, ref, key, live);
        return;
    }
    accepted_remove(&module->accepted, key);
    if (was_there && module->applied_ref && !module->is_pruning)
        set_dirty(module, key);
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
            set_dirty(module, key);
        object_ref_done(&ref);
    }
}

static void watch_resource(struct module *module, const json_t *manifest);

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

        if (!is_manager_only || entry == manager)
            kind_watch_start(module->kyma, ref.api_version, ref.kind, objects);
        object_ref_done(&ref);
    }
    if (is_manager_only)
        return;
    module->is_watching = true;
    watch_resource(module, manifest);
}

/* ---- The default resource ---- */

static const json_t *checks_of(const struct module *module, const json_t *manifest)
{
    const char *name =
        json_string_value(doc_member(doc_get(manifest, "metadata.labels"), KYMA_LABEL_MODULE_NAME));
    cleanup_free char *template =
        xasprintf("%s-%s", name ? name : "", doc_text_or(manifest, "spec.version", ""));

    return doc_get(doc_member(module->kyma->lifecycle->templates, template),
                   "spec.customStateCheck");
}

static void on_resource(void *data, const json_t *object, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *checks = checks_of(module, manifest);

    if (err)
        return;
    module->is_resource_looked_at = true;
    free(module->resource);
    module->resource = NULL;
    if (object && resource_has_state(object, checks))
        set_verdict(&module->resource,
                    resource_state(object, checks,
                                   clock_unix_ms(loop_clock(module->kyma->lifecycle->loop))));
    kyma_touch(module->kyma);
}

static int find_kind(struct module *module, const json_t *manifest, cluster_kind_fn *on_kind,
                     struct error *err)
{
    cleanup_kind_set struct kind_set *extra = kind_set_new();
    const json_t *objects = NULL;
    struct error ignored = {0};
    size_t i;
    json_t *object;

    if (module_content(module, manifest, &objects, &ignored) == MODULE_ANSWER_KNOWN) {
        json_array_foreach(doc_writable(objects), i, object) kind_set_add_crd(extra, object);
    }
    return cluster_find_kind(
        module->kyma->cluster, extra, doc_text_or(manifest, "spec.resource.apiVersion", ""),
        doc_text_or(manifest, "spec.resource.kind", ""), on_kind, module, &module->lookup, err);
}

static void on_kind_to_watch(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *resource = doc_get(manifest, "spec.resource");
    struct error ignored = {0};

    (void)err;
    module->lookup = NULL;
    if (kind && resource)
        (void)!cluster_watch(module->kyma->cluster, kind,
                             kind->is_namespaced ? doc_text(resource, "metadata.namespace") : NULL,
                             doc_text(resource, "metadata.name"), NULL, on_resource, module,
                             &module->resource_interest, &ignored);
}

static void watch_resource(struct module *module, const json_t *manifest)
{
    struct error ignored = {0};

    if (module->resource_interest || module->lookup || !module_view_of(manifest).wants_resource ||
        module->kyma->lifecycle->options.state_source == STATE_MANAGER)
        return;
    (void)!find_kind(module, manifest, on_kind_to_watch, &ignored);
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);

    module->call = NULL;
    if (err->kind != ERROR_NONE && err->kind != ERROR_NOT_FOUND) {
        module_fail(module, err);
        return;
    }
    on_resource(module, object, NULL);
    if (module->resource)
        watch_resource(module, manifest);
}

static void on_kind_to_read(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *resource = doc_get(manifest, "spec.resource");
    struct kube_request request = {
        .verb = KUBE_GET,
        .name = doc_text(resource, "metadata.name"),
        .on_done = on_read,
        .data = module,
    };
    struct error failure = {0};

    module->lookup = NULL;
    if (!kind && err->kind != ERROR_NOT_FOUND) {
        module_fail(module, err);
        return;
    }
    if (!kind) {
        on_resource(module, NULL, NULL);
        return;
    }
    request.resource = kind_resource(kind);
    request.namespace_name = kind->is_namespaced ? doc_text(resource, "metadata.namespace") : NULL;
    if (kube_start(cluster_kube(module->kyma->cluster), &request, &module->call, &failure) < 0)
        module_fail(module, &failure);
}

void module_look_at_resource(struct module *module, const json_t *manifest)
{
    struct error ignored = {0};

    if (module->is_resource_looked_at || module->resource_interest || module->lookup ||
        !module_view_of(manifest).wants_resource ||
        module->kyma->lifecycle->options.state_source == STATE_MANAGER)
        return;
    (void)!find_kind(module, manifest, on_kind_to_read, &ignored);
}

static void on_created(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    (void)object;
    module->call = NULL;
    if (err->kind == ERROR_NONE || err->kind == ERROR_EXISTS) {
        module->is_resource_made = true;
        module_succeeded(module);
    } else if (err->kind == ERROR_NOT_FOUND) {
        struct error soon = {.kind = ERROR_TEMPORARY, .http_status = 503};

        (void)error_set(&soon, ERROR_TEMPORARY, "%s", err->text);
        soon.http_status = 503; /* the kind is not served yet: soon again */
        module_fail(module, &soon);
    } else {
        module_fail(module, err);
    }
}

static void on_kind_to_create(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *resource = doc_get(manifest, "spec.resource");
    struct kube_request request = {
        .verb = KUBE_CREATE,
        .body = resource,
        .field_manager = KYMA_FIELD_MANAGER_RESOURCE,
        .may_send = kyma_may_send,
        .may_send_data = module->kyma,
        .on_done = on_created,
        .data = module,
    };
    struct error failure = {0};

    module->lookup = NULL;
    if (!kind) {
        module_fail(module, err);
        return;
    }
    request.resource = kind_resource(kind);
    request.namespace_name = kind->is_namespaced ? doc_text(resource, "metadata.namespace") : NULL;
    module->kyma->lifecycle->cluster_writes++;
    if (kube_start(cluster_kube(module->kyma->cluster), &request, &module->call, &failure) < 0)
        module_fail(module, &failure);
}

void module_create_resource(struct module *module, const json_t *manifest)
{
    struct error err = {0};

    if (find_kind(module, manifest, on_kind_to_create, &err) < 0)
        module_fail(module, &err);
}
