/* SPDX-License-Identifier: Apache-2.0 */
/* Watches, and the maps that are derived from their objects. */
#include <malloc.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/environments_page.h"
#include "deployer/registrations/manager.h"

const char *const KNOWN_SKIPPED[] = {"metadata.managedFields", NULL};
/* Of items only type, target, label and deployer are of interest. */
static const char *const skipped_of_items[] = {
    "metadata.managedFields", "metadata.annotations", "spec.config",
    "status.providerStatus",  "status.lastError",     NULL};

static const struct {
    const char *name;
    const struct kube_resource *resource;
    bool is_namespaced, is_metadata_only;
    int owned; /* place in the arrays of the map owned plus 1; 0: none */
} kinds[] = {
    [SOURCE_ENVIRONMENTS] = {RESOURCE_ENVIRONMENTS, &KUBE_ENVIRONMENTS, false, false, 0},
    [SOURCE_REGISTRATIONS] = {RESOURCE_DEPLOYER_REGISTRATIONS, &KUBE_DEPLOYER_REGISTRATIONS, false,
                              false, 0},
    [SOURCE_INSTALLATIONS] = {RESOURCE_INSTALLATIONS, &KUBE_INSTALLATIONS, true, false, 0},
    [SOURCE_TARGETS] = {RESOURCE_TARGETS, &KUBE_TARGETS, true, false, 3},
    [SOURCE_ACCOUNTS] = {"serviceaccounts", &KUBE_SERVICE_ACCOUNTS, true, true, 1},
    [SOURCE_BINDINGS] = {"clusterrolebindings", &KUBE_CLUSTER_ROLE_BINDINGS, false, false, 2},
    [SOURCE_ITEMS] = {RESOURCE_DEPLOY_ITEMS, &KUBE_DEPLOY_ITEMS, false, false, 0},
    [SOURCE_LEASES] = {"leases", &KUBE_LEASES, true, false, 0},
};

enum { INSTALLATION_DEPTH_MAX = 16 };

/* ---- two-level maps ---- */

const json_t *known_get(const json_t *map, const char *first, const char *second)
{
    return doc_member(doc_member(map, first), second);
}

const char *known_owned_name(const json_t *names)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (json_is_string(json_array_get(names, i)))
            return json_string_value(json_array_get(names, i));
    }
    return NULL;
}

static void map_set(json_t *map, const char *first, const char *second, json_t *value)
{
    json_t *inner = json_object_get(map, first);

    if (!inner) {
        inner = json_object();
        (void)json_object_set_new(map, first, inner);
    }
    (void)json_object_set_new(inner, second, value);
}

static void map_remove(json_t *map, const char *first, const char *second)
{
    json_t *inner = json_object_get(map, first);

    (void)json_object_del(inner, second);
    if (inner && json_object_size(inner) == 0)
        (void)json_object_del(map, first);
}

static void count_served(struct manager *manager, const json_t *item, int by)
{
    const char *identity = doc_text(item, "status.deployer.identity");
    int64_t count = 0;

    if (!identity || !*identity)
        return;
    count = json_integer_value(json_object_get(manager->served, identity)) + by;
    if (count > 0)
        (void)json_object_set_new(manager->served, identity, json_integer(count));
    else
        (void)json_object_del(manager->served, identity);
}

/* ---- derived maps ---- */

/* The Installation that an item of the deployers' namespace was made for, or NULL. */
static const char *installation_of_item(const struct manager *manager, const json_t *item)
{
    if (strcmp(doc_text_or(item, "metadata.namespace", ""), manager->settings.namespace_name) != 0)
        return NULL;
    return json_string_value(doc_member(doc_get(item, "metadata.labels"), LABEL_EXECUTION));
}

/* The Installation that has created this one, or NULL. */
static const char *parent_of(const json_t *installation)
{
    const json_t *owners = doc_get(installation, "metadata.ownerReferences");

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (strcmp(doc_text_or(owner, "kind", ""), KIND_INSTALLATION) == 0)
            return doc_text(owner, "name");
    }
    return NULL;
}

static void detach(struct manager *manager, enum source source, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    const char *registration = NULL;
    const char *environment = NULL;
    const char *installation = NULL;

    if (source == SOURCE_ITEMS) {
        count_served(manager, object, -1);
        installation = installation_of_item(manager, object);
        if (installation)
            map_remove(manager->rendered, installation, name);
        return;
    }
    if (source == SOURCE_INSTALLATIONS && parent_of(object))
        map_remove(manager->children, parent_of(object), name);
    if (!pair_of_object(object, &registration, &environment))
        return;
    if (source == SOURCE_INSTALLATIONS)
        map_remove(manager->installed, environment, registration);
    if (kinds[source].owned) {
        json_t *names = doc_writable(known_get(manager->owned, environment, registration));

        (void)json_array_set_new(names, (size_t)kinds[source].owned - 1, json_null());
        if (!known_owned_name(names))
            map_remove(manager->owned, environment, registration);
    }
}

static void attach(struct manager *manager, enum source source, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    const char *registration = NULL;
    const char *environment = NULL;
    const char *installation = NULL;

    if (source == SOURCE_ITEMS) {
        count_served(manager, object, 1);
        installation = installation_of_item(manager, object);
        if (installation)
            map_set(manager->rendered, installation, name,
                    json_pack("[s,s]", doc_text_or(object, "spec.type", ""),
                              doc_text_or(object, "spec.target.name", "")));
        return;
    }
    if (source == SOURCE_INSTALLATIONS && parent_of(object))
        map_set(manager->children, parent_of(object), name, json_true());
    if (!pair_of_object(object, &registration, &environment))
        return;
    if (source == SOURCE_INSTALLATIONS)
        map_set(manager->installed, environment, registration, json_string(name));
    if (kinds[source].owned) {
        if (!known_get(manager->owned, environment, registration))
            map_set(manager->owned, environment, registration, json_pack("[n,n,n]"));
        (void)json_array_set_new(doc_writable(known_get(manager->owned, environment, registration)),
                                 (size_t)kinds[source].owned - 1, json_string(name));
    }
}

/* The environment of the Installation with this name, or of the one at its root. */
static void touch_installation(struct manager *manager, const char *name)
{
    const char *registration = NULL;
    const char *environment = NULL;

    for (int depth = 0; name && depth < INSTALLATION_DEPTH_MAX; depth++) {
        const json_t *installation = manager_find(manager, SOURCE_INSTALLATIONS, name);

        if (pair_of_object(installation, &registration, &environment)) {
            manager_touch(manager, environment);
            return;
        }
        name = parent_of(installation);
    }
}

/* Looks at the environments that this object is about. Objects of v0.98 have no marks: they are
 * compared whenever their environment is looked at. */
static void touch_for(struct manager *manager, enum source source, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    const char *registration = NULL;
    const char *environment = NULL;

    if (source == SOURCE_ITEMS) {
        touch_installation(manager, installation_of_item(manager, object));
        touch_installation(manager, doc_text(object, "status.deployer.identity"));
    } else if (source == SOURCE_REGISTRATIONS) {
        manager_touch(manager, NULL);
    } else if (pair_of_object(object, &registration, &environment)) {
        manager_touch(manager, environment);
    } else if (source == SOURCE_ENVIRONMENTS || manager_find(manager, SOURCE_ENVIRONMENTS, name)) {
        manager_touch(manager, name); /* an Environment, or its host Target */
    }
}

static char *key_of(enum source source, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");

    return source == SOURCE_ITEMS
               ? xasprintf("%s/%s", doc_text_or(object, "metadata.namespace", ""), name)
               : xstrdup(name);
}

void known_remove(struct manager *manager, enum source source, const char *name)
{
    struct source_state *state = &manager->sources[source];
    cleanup_json json_t *old = json_incref(doc_writable(manager_find(manager, source, name)));

    (void)json_object_del(state->listed, name);
    if (!old)
        return;
    (void)json_object_del(state->objects, name);
    if (source == SOURCE_LEASES) {
        beats_remove(manager, name);
        return;
    }
    detach(manager, source, old);
    touch_for(manager, source, old);
}

void known_set(struct manager *manager, enum source source, const json_t *object)
{
    struct source_state *state = &manager->sources[source];
    cleanup_free char *key = key_of(source, object);
    cleanup_json json_t *old = json_incref(doc_writable(manager_find(manager, source, key)));
    cleanup_json json_t *new = store_reduce(manager, source, object);

    if (!new) {
        known_remove(manager, source, key);
        return;
    }
    if (state->listed)
        (void)json_object_set_new(state->listed, key, json_true());
    if (!store_set(manager, source, key, new))
        return;
    if (source == SOURCE_LEASES) {
        beats_set(manager, new);
        return;
    }
    if (old)
        detach(manager, source, old);
    attach(manager, source, new);
    if (old && source != SOURCE_ITEMS)
        touch_for(manager, source, old);
    touch_for(manager, source, new);
}

/* ---- watches ---- */

static void end_list(struct source_state *state)
{
    cleanup_json json_t *gone = json_array();
    const char *key = NULL;
    json_t *value = NULL;
    size_t i = 0;

    doc_foreach(state->objects, key, value)
    {
        if (!json_object_get(state->listed, key))
            (void)json_array_append_new(gone, json_string(key));
    }
    json_array_foreach(gone, i, value)
    {
        known_remove(state->manager, state->source, json_string_value(value));
    }
    json_decref(steal(&state->listed));
    state->is_synced = true;
    state->is_rewound = false;
#ifdef __GLIBC__
    /* A list of large objects leaves much free memory behind. */
    (void)malloc_trim(0);
#endif
    if (state->source == SOURCE_LEASES && state->broken_ms > 0)
        beats_resume(state->manager, state->broken_ms);
    state->broken_ms = 0;
    if (manager_is_synced(state->manager)) {
        log_info("all objects listed");
        manager_touch(state->manager, NULL);
    }
}

/* Whether the answer to a write has reported a later version of the object already. */
static bool is_older(struct source_state *state, const char *key, const json_t *object)
{
    const json_t *known = manager_find(state->manager, state->source, key);
    uint64_t version = 0;
    uint64_t known_version = 0;

    return known && !state->is_rewound &&
           number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX,
                        &version) &&
           number_parse(doc_text_or(known, "metadata.resourceVersion", ""), UINT64_MAX,
                        &known_version) &&
           version < known_version;
}

void known_answer(struct manager *manager, enum source source, const json_t *object)
{
    struct source_state *state = &manager->sources[source];
    cleanup_free char *key = key_of(source, object);

    if (!is_older(state, key, object) &&
        !json_object_get(manager->deleted, doc_text_or(object, "metadata.uid", "")))
        known_set(manager, source, object);
}

static void take_event(struct source_state *state, enum kube_event event, const json_t *object,
                       const struct error *err)
{
    cleanup_free char *key = object ? key_of(state->source, object) : NULL;

    if (object && is_older(state, key, object)) {
        if (event == KUBE_EVENT_LISTED)
            (void)json_object_set_new(state->listed, key, json_true());
        return;
    }
    switch (event) {
    case KUBE_EVENT_LISTING:
        json_decref(state->listed);
        state->listed = json_object();
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        known_set(state->manager, state->source, object);
        break;
    case KUBE_EVENT_DELETED:
        if (state->manager->running > 0 || state->manager->status_writes)
            (void)json_object_set_new(state->manager->deleted,
                                      doc_text_or(object, "metadata.uid", ""), json_true());
        known_remove(state->manager, state->source, key);
        break;
    case KUBE_EVENT_SYNCED:
        end_list(state);
        break;
    case KUBE_EVENT_BROKEN:
        log_error("watch failed, retrying", log_text("resource", kinds[state->source].name),
                  log_text("error", err->text));
        if (state->broken_ms == 0)
            state->broken_ms = loop_now_ms(state->manager->loop);
        break;
    case KUBE_EVENT_REWOUND:
        state->is_rewound = true; /* a list follows */
        break;
    }
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct source_state *state = data;

    if (state->source == SOURCE_ENVIRONMENTS)
        watched_page_event(state->manager->page, ENVIRONMENTS_PAGE_ENVIRONMENTS, event, object);
    else if (state->source == SOURCE_REGISTRATIONS)
        watched_page_event(state->manager->page, ENVIRONMENTS_PAGE_REGISTRATIONS, event, object);
    take_event(state, event, object, err);
    manager_close(state->manager);
}

int known_start(struct manager *manager, struct error *err)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        struct source_state *state = &manager->sources[i];
        const struct kube_watch_options options = {
            .resource = *kinds[i].resource,
            .namespace_name = kinds[i].is_namespaced ? manager->settings.namespace_name : NULL,
            .is_metadata_only = kinds[i].is_metadata_only,
            .skipped_members = i == SOURCE_ITEMS ? skipped_of_items : KNOWN_SKIPPED,
            .page_size = MANAGER_LIST_PAGE,
            .on_event = on_event,
            .data = state,
        };

        *state = (struct source_state){
            .manager = manager, .source = (enum source)i, .objects = json_object()};
        if (kube_watch_start(manager->kube, &options, &state->watch, err) < 0)
            return error_wrap(err, "watch %s", kinds[i].name);
    }
    return 0;
}

void known_stop(struct manager *manager)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        kube_watch_stop(manager->sources[i].watch);
        json_decref(manager->sources[i].objects);
        json_decref(manager->sources[i].listed);
    }
}
