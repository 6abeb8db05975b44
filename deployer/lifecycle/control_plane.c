/* SPDX-License-Identifier: Apache-2.0 */
/* The watches on the control plane. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"

const struct kube_resource RESOURCE_KYMAS = {KYMA_GROUP, "v1beta2", "kymas"};
const struct kube_resource RESOURCE_TEMPLATES = {KYMA_GROUP, "v1beta2", "moduletemplates"};
const struct kube_resource RESOURCE_RELEASES = {KYMA_GROUP, "v1beta2", "modulereleasemetas"};
const struct kube_resource RESOURCE_MANIFESTS = {KYMA_GROUP, "v1beta2", "manifests"};

enum { KUBECONFIG_MAX = 1 << 20 };

static const char *const skipped[] = {"metadata.managedFields", NULL};
static const struct {
    const char *name;
    const struct kube_resource *resource;
    const char *label_selector;
} sources[] = {
    [SOURCE_KYMAS] = {"kymas", &RESOURCE_KYMAS, NULL},
    [SOURCE_TEMPLATES] = {"moduletemplates", &RESOURCE_TEMPLATES, NULL},
    [SOURCE_RELEASES] = {"modulereleasemetas", &RESOURCE_RELEASES, NULL},
    [SOURCE_MANIFESTS] = {"manifests", &RESOURCE_MANIFESTS, NULL},
    [SOURCE_SECRETS] = {"secrets", &KUBE_SECRETS, KYMA_LABEL_KYMA_NAME},
};

static const char *name_of(const json_t *object)
{
    return doc_text_or(object, "metadata.name", "");
}

static const char *label_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(doc_member(doc_get(object, "metadata.labels"), key));

    return value ? value : "";
}

/* ---- Catalog ---- */

static void set_catalog(struct lifecycle *lifecycle, enum source source, const json_t *object,
                        bool is_gone)
{
    json_t *map = source == SOURCE_TEMPLATES ? lifecycle->templates : lifecycle->releases;
    const json_t *old = doc_member(map, name_of(object));

    if (!is_gone && old &&
        strcmp(doc_text_or(old, "metadata.resourceVersion", ""),
               doc_text_or(object, "metadata.resourceVersion", "")) == 0)
        return;
    if (is_gone)
        (void)json_object_del(map, name_of(object));
    else
        (void)json_object_set_new(map, name_of(object), json_deep_copy(object));
    for (size_t i = 0; i < array_length(lifecycle->catalogs); i++) {
        json_decref(lifecycle->catalogs[i]);
        lifecycle->catalogs[i] = NULL;
    }
    kymas_touch_all(lifecycle);
}

/* ---- Kymas and Manifests ---- */

/* What the metrics of the cluster are labelled with: its domain's first part, and its instance. */
static void note_names(struct kyma *kyma, const json_t *object)
{
    const char *domain = json_string_value(
        doc_member(doc_get(object, "metadata.annotations"), KYMA_ANNOTATION_DOMAIN));

    free(kyma->shoot);
    free(kyma->instance);
    kyma->shoot = domain ? xstrndup(domain, strcspn(domain, ".\"\\\n")) : xstrdup("");
    kyma->instance = xstrdup(label_of(object, KYMA_LABEL_INSTANCE));
}

static void set_kyma(struct source_state *state, const json_t *object, bool is_gone)
{
    struct kyma *kyma = is_gone ? kyma_find(state->lifecycle, name_of(object))
                                : kyma_get(state->lifecycle, name_of(object));

    if (!kyma)
        return;
    kyma->round = state->round;
    /* The event of our own write says nothing that its response did not. */
    if (!is_gone && !state->is_rewound &&
        (kept_is_newer_than(&kyma->object, object) || kept_has(&kyma->object, object)))
        return;
    kept_set(&kyma->object, is_gone ? NULL : object);
    note_names(kyma, object);
    kyma_touch(kyma);
}

static void count_mandatory(struct lifecycle *lifecycle, const json_t *manifest, int by)
{
    const char *module = label_of(manifest, KYMA_LABEL_MODULE_NAME);
    json_int_t count = 0;

    if (strcmp(label_of(manifest, KYMA_LABEL_MANDATORY), "true") != 0)
        return;
    count = json_integer_value(json_object_get(lifecycle->mandatory_counts, module)) + by;
    if (count > 0)
        (void)json_object_set_new(lifecycle->mandatory_counts, module, json_integer(count));
    else
        (void)json_object_del(lifecycle->mandatory_counts, module);
}

/* How long it takes until a module is Ready, for metrics. */
static void note_readiness(struct module *module)
{
    uint64_t now_ms = loop_now_ms(module->kyma->lifecycle->loop);

    if (module->reported_state != MODULE_READY) {
        if (!module->unready_since_ms)
            module->unready_since_ms = now_ms;
        return;
    }
    if (module->unready_since_ms)
        module->took_ms = now_ms - module->unready_since_ms;
    module->unready_since_ms = 0;
}

static void set_manifest(struct source_state *state, const json_t *object, bool is_gone)
{
    struct lifecycle *lifecycle = state->lifecycle;
    const char *owner = label_of(object, KYMA_LABEL_KYMA_NAME);
    struct kyma *kyma = is_gone ? kyma_find(lifecycle, owner) : kyma_get(lifecycle, owner);
    struct module *module = NULL;
    bool is_known = false;

    if (!kyma || !*owner)
        return;
    module = is_gone ? module_find(kyma, name_of(object)) : module_get(kyma, name_of(object));
    if (!module)
        return;
    module->round = state->round;
    if (is_gone) {
        if (kept_is_there(&module->manifest))
            count_mandatory(lifecycle, object, -1);
        module_free(module);
    } else if (state->is_rewound || !kept_is_newer_than(&module->manifest, object)) {
        if (!kept_is_there(&module->manifest))
            count_mandatory(lifecycle, object, 1);
        is_known = !state->is_rewound && kept_has(&module->manifest, object);
        if (!is_known)
            kept_set(&module->manifest, object);
        module->is_awaited = false;
        module->is_mandatory = *label_of(object, KYMA_LABEL_MANDATORY) != '\0';
        module->reported_state = MODULE_PROCESSING;
        (void)module_state_parse(doc_text(object, "status.state"), &module->reported_state);
        note_readiness(module);
        text_pool_set(&lifecycle->texts, &module->module_name,
                      label_of(object, KYMA_LABEL_MODULE_NAME));
    }
    if (!is_known) /* otherwise it is the event of our own write, whose response we had */
        kyma_touch(kyma);
}

/* ---- Access Secrets ---- */

int access_read_config(const json_t *secret, struct kube_config **ret_config, struct error *err)
{
    const char *encoded = doc_text(secret, "data.config");
    cleanup_buffer struct buffer text = {0};

    buffer_init(&text, KUBECONFIG_MAX);
    if (!encoded)
        return error_set(err, ERROR_INVALID, "it has no key \"config\" with a kubeconfig");
    if (base64_decode(encoded, strlen(encoded), &text, err) < 0 ||
        buffer_append(&text, "", 1, err) < 0)
        return -1;
    return kube_config_from_text(text.data, ret_config, err);
}

static void access_free(struct access *access)
{
    kube_config_free(access->config);
    free(access->problem);
    free(access->secret);
    free(access);
}

static void remove_access(struct lifecycle *lifecycle, const char *secret)
{
    const char *owner = json_string_value(json_object_get(lifecycle->secret_owners, secret));
    struct kyma *kyma = owner ? kyma_find(lifecycle, owner) : NULL;

    for (struct access **link = kyma ? &kyma->accesses : NULL; link && *link;
         link = &(*link)->next) {
        struct access *access = *link;

        if (strcmp(access->secret, secret) != 0)
            continue;
        *link = access->next;
        access_free(access);
        kyma_touch(kyma);
        break;
    }
    (void)json_object_del(lifecycle->secret_owners, secret);
}

static void set_secret(struct source_state *state, const json_t *object, bool is_gone)
{
    struct lifecycle *lifecycle = state->lifecycle;
    const char *owner = label_of(object, KYMA_LABEL_KYMA_NAME);
    struct kyma *kyma = NULL;
    struct access *access = NULL;
    struct error err = {0};

    remove_access(lifecycle, name_of(object));
    if (is_gone || !*owner)
        return;
    kyma = kyma_get(lifecycle, owner);
    access = xcalloc(1, sizeof(*access));
    access->secret = xstrdup(name_of(object));
    access->round = state->round;
    if (access_read_config(object, &access->config, &err) < 0)
        access->problem = xasprintf("access Secret %s/%s: %s", lifecycle->options.namespace_name,
                                    name_of(object), err.text);
    access->next = kyma->accesses;
    kyma->accesses = access;
    (void)json_object_set_new(lifecycle->secret_owners, name_of(object), json_string(owner));
    kyma_touch(kyma);
}

/* ---- Lists ---- */

static void set_object(struct source_state *state, const json_t *object, bool is_gone)
{
    switch (state->source) {
    case SOURCE_KYMAS:
        set_kyma(state, object, is_gone);
        break;
    case SOURCE_TEMPLATES:
    case SOURCE_RELEASES:
        set_catalog(state->lifecycle, state->source, object, is_gone);
        break;
    case SOURCE_MANIFESTS:
        set_manifest(state, object, is_gone);
        break;
    case SOURCE_SECRETS:
        set_secret(state, object, is_gone);
        break;
    case SOURCE_COUNT:
        break;
    }
}

/* What the list did not have is gone. */
static void drop_unlisted_of(struct kyma *kyma)
{
    struct lifecycle *lifecycle = kyma->lifecycle;
    struct module *next = NULL;
    struct access *next_access = NULL;

    if (kyma->round != lifecycle->sources[SOURCE_KYMAS].round && kept_is_there(&kyma->object)) {
        kept_set(&kyma->object, NULL);
        kyma_touch(kyma);
    }
    for (struct module *module = kyma->modules; module; module = next) {
        cleanup_json json_t *manifest = NULL;

        next = module->next;
        if (module->round == lifecycle->sources[SOURCE_MANIFESTS].round || module->call)
            continue;
        manifest = kept_get(&module->manifest);
        if (manifest)
            count_mandatory(lifecycle, manifest, -1);
        module_free(module);
        kyma_touch(kyma);
    }
    for (struct access *access = kyma->accesses; access; access = next_access) {
        next_access = access->next;
        if (access->round != lifecycle->sources[SOURCE_SECRETS].round)
            remove_access(lifecycle, access->secret);
    }
}

static void end_list(struct source_state *state)
{
    struct lifecycle *lifecycle = state->lifecycle;

    state->is_synced = true;
    state->is_rewound = false;
    if (!lifecycle_is_synced(lifecycle))
        return;
    kymas_foreach(lifecycle, drop_unlisted_of);
    log_info("all objects listed", log_number("clusters", lifecycle->kyma_count));
    kymas_touch_all(lifecycle);
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct source_state *state = data;

    if (state->source == SOURCE_KYMAS)
        watched_page_event(state->lifecycle->page, CLUSTERS_PAGE_KYMAS, event, object);
    else if (state->source == SOURCE_MANIFESTS)
        watched_page_event(state->lifecycle->page, CLUSTERS_PAGE_MANIFESTS, event, object);
    switch (event) {
    case KUBE_EVENT_LISTING:
        state->round++;
        if (state->source == SOURCE_TEMPLATES)
            (void)json_object_clear(state->lifecycle->templates);
        if (state->source == SOURCE_RELEASES)
            (void)json_object_clear(state->lifecycle->releases);
        /* Until the catalog is complete again, a module that is missing in it is not missing. */
        state->is_synced = false;
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        set_object(state, object, false);
        break;
    case KUBE_EVENT_DELETED:
        set_object(state, object, true);
        break;
    case KUBE_EVENT_SYNCED:
        end_list(state);
        break;
    case KUBE_EVENT_BROKEN:
        log_error("watch failed, retrying", log_text("resource", sources[state->source].name),
                  log_text("error", err->text));
        break;
    case KUBE_EVENT_REWOUND:
        state->is_rewound = true;
        break;
    }
}

int control_plane_start(struct lifecycle *lifecycle, struct error *err)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        struct source_state *state = &lifecycle->sources[i];
        const struct kube_watch_options options = {
            .resource = *sources[i].resource,
            .namespace_name = lifecycle->options.namespace_name,
            .label_selector = sources[i].label_selector,
            /* Deleted objects are recognized by their labels, which are not skipped. */
            .skipped_members = skipped,
            .page_size = LIFECYCLE_LIST_PAGE,
            .on_event = on_event,
            .data = state,
        };

        state->lifecycle = lifecycle;
        state->source = (enum source)i;
        if (kube_watch_start(lifecycle->kube, &options, &state->watch, err) < 0)
            return error_wrap(err, "watch %s", sources[i].name);
    }
    return 0;
}

void control_plane_stop(struct lifecycle *lifecycle)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        kube_watch_stop(lifecycle->sources[i].watch);
}

struct kube_call *control_plane_write(struct sender sender, enum kube_verb verb,
                                      struct kube_resource resource, const char *name,
                                      const char *subresource, const json_t *body,
                                      const char *field_manager, kube_done_fn *on_done, void *data)
{
    struct lifecycle *lifecycle = sender.lifecycle;
    const struct kube_request request = {
        .verb = verb,
        .resource = resource,
        .namespace_name = lifecycle->options.namespace_name,
        .name = name,
        .subresource = subresource,
        .body = body,
        .field_manager = verb == KUBE_DELETE ? NULL : field_manager,
        .grace_seconds = -1,
        .skipped_members = skipped,
        .may_send = sender.may_send,
        .may_send_data = sender.may_send_data,
        .on_done = on_done,
        .data = data,
    };
    struct kube_call *call = NULL;
    struct error err = {0};

    lifecycle->control_plane_writes++;
    if (kube_start(lifecycle->kube, &request, &call, &err) < 0)
        log_error("invalid request", log_text("error", err.text), log_text("object", name));
    return call;
}
