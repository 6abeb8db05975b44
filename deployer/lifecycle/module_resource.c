/* SPDX-License-Identifier: Apache-2.0 */
/* The default resource of a module, and the others of its kind: the module's operator serves them.
 * Every step finds the kind first. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

/* content: the objects of the module, which may define the kind; NULL: the cluster is asked. */
static int find_kind(struct module *module, const json_t *manifest, const json_t *content,
                     cluster_kind_fn *on_kind, struct error *err)
{
    cleanup_kind_set struct kind_set *extra = kind_set_new();
    size_t i;
    json_t *object;

    json_array_foreach(doc_writable(content), i, object) kind_set_add_crd(extra, object);
    return cluster_find_kind(
        module->kyma->cluster, extra, doc_text_or(manifest, "spec.resource.apiVersion", ""),
        doc_text_or(manifest, "spec.resource.kind", ""), on_kind, module, &module->lookup, err);
}

static const json_t *known_content(const struct module *module, const json_t *manifest)
{
    const json_t *objects = NULL;
    struct error ignored = {0};

    return module_content(module, manifest, &objects, &ignored) == MODULE_ANSWER_KNOWN ? objects
                                                                                       : NULL;
}

/* A request about the default resource. */
static void send(struct module *module, const struct kind *kind, enum kube_verb verb,
                 kube_done_fn *on_done)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *resource = doc_get(manifest, "spec.resource");
    struct kube_request request = {
        .verb = verb,
        .resource = kind_resource(kind),
        .namespace_name = kind->is_namespaced ? doc_text(resource, "metadata.namespace") : NULL,
        .on_done = on_done,
        .data = module,
    };
    struct error failure = {0};

    if (verb == KUBE_CREATE) {
        request.body = resource;
        request.field_manager = KYMA_FIELD_MANAGER_RESOURCE;
    } else {
        request.name = doc_text(resource, "metadata.name");
    }
    if (verb == KUBE_DELETE)
        request.grace_seconds = -1;
    if (verb != KUBE_GET) {
        request.may_send = kyma_may_send;
        request.may_send_data = module->kyma;
        module->kyma->lifecycle->cluster_writes++;
    }
    module_drop_call(module);
    if (kube_start(cluster_kube(module->kyma->cluster), &request, &module->call, &failure) < 0)
        module_fail(module, &failure);
}

/* ---- Its state ---- */

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
    struct state_verdict verdict = {0};

    if (err)
        return;
    module->is_resource_looked_at = true;
    free(module->resource);
    module->resource = NULL;
    if (object && resource_has_state(object, checks)) {
        verdict = resource_state(object, checks,
                                 clock_unix_ms(loop_clock(module->kyma->lifecycle->loop)));
        module_set_verdict(&module->resource, &verdict);
    }
    kyma_touch(module->kyma);
}

/* A resource that was just created needs no list: the watch begins where it was created. */
static void watch_resource(struct module *module, const struct kind *kind, const json_t *resource)
{
    cleanup_json json_t *created = module->created_resource;
    cleanup_json json_t *known = created ? json_pack("[O]", created) : NULL;
    struct error ignored = {0};
    int64_t from = 0;

    module->created_resource = NULL;
    (void)!cluster_watch_known(module->kyma->cluster, kind,
                               kind->is_namespaced ? doc_text(resource, "metadata.namespace")
                                                   : NULL,
                               doc_text(resource, "metadata.name"), NULL, known, on_resource,
                               module, &from, &module->resource_interest, &ignored);
    if (from)
        on_resource(module, created, NULL);
}

static void on_kind_to_watch(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    const json_t *resource = doc_get(manifest, "spec.resource");

    module->lookup = NULL;
    if (!kind && err->kind == ERROR_NOT_FOUND)
        on_resource(module, NULL, NULL);
    else if (!kind)
        module_fail(module, err);
    else if (resource)
        watch_resource(module, kind, resource);
}

void module_watch_resource(struct module *module, const json_t *manifest)
{
    const struct module_view view = module_view_of(manifest);
    struct error ignored = {0};

    if (!module->resource_interest && !module->lookup && view.wants_resource &&
        (view.is_resource_created || module->is_resource_made) &&
        module->kyma->lifecycle->options.state_source != STATE_MANAGER)
        (void)!find_kind(module, manifest, known_content(module, manifest), on_kind_to_watch,
                         &ignored);
}

/* ---- Its creation ---- */

static void on_created(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    module->call = NULL;
    if (err->kind == ERROR_NONE || err->kind == ERROR_EXISTS) {
        json_decref(module->created_resource);
        module->created_resource = json_incref(object);
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

    module->lookup = NULL;
    if (kind)
        send(module, kind, KUBE_CREATE, on_created);
    else
        module_fail(module, err);
}

void module_create_resource(struct module *module, const json_t *manifest)
{
    struct error err = {0};

    if (find_kind(module, manifest, known_content(module, manifest), on_kind_to_create, &err) < 0)
        module_fail(module, &err);
}

/* ---- Its deletion. The registry is not needed: content is not asked for. ---- */

/* Not while the module is removed: its definition goes then, too. */
static bool is_waiting_for_resources(const struct module *module)
{
    return (!module->are_resources_known || json_object_size(module->resources) > 0) &&
           !module->removal && !module->call && !module->lookup;
}

/* The kind was discovered before its definition was deleted, or something else responded. Discovery
 * decides whether the kind exists, after a short time, because it may be late as well. */
static void look_up_again(struct module *module, const struct error *err)
{
    cleanup_json json_t *manifest = kept_get(&module->manifest);
    struct error unconfirmed = {0};

    cluster_forget_kinds(module->kyma->cluster,
                         doc_text_or(manifest, "spec.resource.apiVersion", ""));
    cluster_unwatch(module->resources_interest);
    module->resources_interest = NULL;
    module->are_resources_known = false;
    (void)json_object_clear(module->resources);
    (void)error_set(&unconfirmed, ERROR_TEMPORARY, "%s", err->text);
    unconfirmed.http_status = 503;
    module_fail(module, &unconfirmed);
}

static void on_one_of_kind(void *data, const json_t *object, const struct error *err)
{
    struct module *module = data;
    cleanup_free char *key = NULL;

    if (!object && err) {
        /* All others are tried again: that something cannot be read does not mean that it does not
         * exist. */
        if (err->kind == ERROR_NOT_FOUND && is_waiting_for_resources(module))
            look_up_again(module, err);
        return;
    }
    if (!object) {
        module->are_resources_known = true;
        kyma_touch(module->kyma);
        return;
    }
    key = xasprintf("%s/%s", doc_text_or(object, "metadata.namespace", ""),
                    doc_text_or(object, "metadata.name", ""));
    if (err)
        (void)json_object_del(module->resources, key);
    else
        (void)json_object_set_new(
            module->resources, key,
            json_boolean(doc_text(object, "metadata.deletionTimestamp") != NULL));
    kyma_touch(module->kyma);
}

static void on_kind_to_watch_all(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;
    struct error failure = {0};

    module->lookup = NULL;
    if (!kind && err->kind == ERROR_NOT_FOUND) {
        module->are_resources_known = true; /* the kind does not exist, so neither does any */
        kyma_touch(module->kyma);
        return;
    }
    if (!kind) {
        module_fail(module, err);
        return;
    }
    if (cluster_watch(module->kyma->cluster, kind, NULL, NULL, NULL, on_one_of_kind, module,
                      &module->resources_interest, &failure) < 0)
        module_fail(module, &failure);
}

void module_watch_resources(struct module *module, const json_t *manifest)
{
    struct error err = {0};

    if (module->resources_interest)
        return;
    if (!module->resources)
        module->resources = json_object();
    if (find_kind(module, manifest, NULL, on_kind_to_watch_all, &err) < 0)
        module_fail(module, &err);
}

static void on_deleted(void *data, json_t *object, const struct error *err)
{
    struct module *module = data;

    (void)object;
    if (!module_end_call(module, err))
        return;
    module->is_resource_deleted = true; /* the watch says when it is gone */
    module_succeeded(module);
}

static void on_kind_to_delete(void *data, const struct kind *kind, const struct error *err)
{
    struct module *module = data;

    module->lookup = NULL;
    if (kind)
        send(module, kind, KUBE_DELETE, on_deleted);
    else
        module_fail(module, err);
}

void module_delete_resource(struct module *module, const json_t *manifest)
{
    struct error err = {0};

    if (find_kind(module, manifest, NULL, on_kind_to_delete, &err) < 0)
        module_fail(module, &err);
}
