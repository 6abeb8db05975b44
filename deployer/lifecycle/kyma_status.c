/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/kyma_status.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/names.h"

/* ---- Modules ---- */

static json_t *tracked(const json_t *object, const char *api_version, const char *kind,
                       bool has_generation)
{
    json_t *metadata = json_object();

    doc_set_text(metadata, "name", doc_text_or(object, "metadata.name", ""));
    if (*doc_text_or(object, "metadata.namespace", ""))
        doc_set_text(metadata, "namespace", doc_text(object, "metadata.namespace"));
    if (has_generation && doc_get(object, "metadata.generation"))
        json_object_set(metadata, "generation",
                        doc_writable(doc_get(object, "metadata.generation")));
    return json_pack("{s:s, s:s, s:o}", "apiVersion", api_version, "kind", kind, "metadata",
                     metadata);
}

/* Whether the status is about an older specification. */
static bool is_outdated(const json_t *manifest)
{
    const json_t *condition = json_array_get(doc_get(manifest, "status.conditions"), 0);

    return condition && doc_integer_or(condition, "observedGeneration", 0) <
                            doc_integer_or(manifest, "metadata.generation", 0);
}

static enum module_state state_of(const json_t *manifest)
{
    enum module_state state = MODULE_PROCESSING;

    (void)module_state_parse(doc_text(manifest, "status.state"), &state);
    return state == MODULE_READY && is_outdated(manifest) ? MODULE_PROCESSING : state;
}

/* The Manifest of another version says nothing about this one. */
static bool is_of_version(const json_t *manifest, const char *version)
{
    return strcmp(doc_text_or(manifest, "spec.version", ""), version) == 0;
}

static void set_state(json_t *entry, enum module_state state, const char *message)
{
    doc_set_text(entry, "state", module_state_name(state));
    if (message && *message)
        doc_set_text(entry, "message", message);
    else
        (void)json_object_del(entry, "message");
}

static json_t *new_entry(const struct module_choice *choice)
{
    json_t *entry = json_pack("{s:s}", "name", choice->name);

    if (*choice->component) {
        doc_set_text(entry, "fqdn", choice->component);
        doc_set_text(entry, "ocmComponentName", choice->component);
    }
    if (*choice->channel)
        doc_set_text(entry, "channel", choice->channel);
    /* The server adds it anyway, and the status would never be what was written. */
    doc_set_new(entry, "maintenance", json_false());
    return entry;
}

/* A Manifest that is not Ready explains itself: whoever sees only the Kyma learns why. */
static void describe_manifest(json_t *entry, const json_t *manifest)
{
    enum module_state state = state_of(manifest);

    set_state(entry, state,
              state == MODULE_READY ? NULL : doc_text(manifest, "status.lastOperation.operation"));
}

static json_t *installed_entry(const struct module_choice *choice, const json_t *manifest)
{
    json_t *entry = new_entry(choice);
    const json_t *resource = doc_get(manifest, "spec.resource");

    /* The version that is installed decides about the next one; a Manifest that has not been
     * written yet installs nothing. */
    if (manifest && is_of_version(manifest, choice->version)) {
        doc_set_text(entry, "version", choice->version);
        doc_set_new(entry, "template",
                    tracked(choice->template, KYMA_API_VERSION, KIND_MODULE_TEMPLATE, true));
    }
    if (manifest)
        doc_set_new(entry, "manifest", tracked(manifest, KYMA_API_VERSION, KIND_MANIFEST, false));
    if (json_is_object(resource) && !choice->is_resource_ignored)
        doc_set_new(entry, "resource",
                    tracked(resource, doc_text_or(resource, "apiVersion", ""),
                            doc_text_or(resource, "kind", ""), false));
    describe_manifest(entry, manifest);
    if (manifest && !is_of_version(manifest, choice->version))
        set_state(entry, MODULE_PROCESSING, NULL);
    return entry;
}

/* The entry of one module; NULL: it has none any more. */
static json_t *module_entry(const struct module_choice *choice, const json_t *manifest)
{
    json_t *entry = NULL;

    switch (choice->kind) {
    case CHOICE_INSTALL:
        return installed_entry(choice, manifest);
    case CHOICE_KEEP:
        entry = choice->entry ? json_deep_copy(choice->entry) : new_entry(choice);
        set_state(entry,
                  choice->has_state ? choice->state
                  : manifest && !is_of_version(manifest, doc_text_or(entry, "version", ""))
                      ? MODULE_PROCESSING
                      : state_of(manifest),
                  choice->message);
        doc_set_new(entry, "maintenance", json_boolean(choice->is_maintenance));
        return entry;
    case CHOICE_FAIL:
    case CHOICE_REVOKE:
        entry = new_entry(choice);
        /* It stays installed, so it stays known which version that is. */
        if (choice->kind == CHOICE_FAIL && *doc_text_or(choice->entry, "version", ""))
            doc_set_text(entry, "version", doc_text(choice->entry, "version"));
        set_state(entry, choice->state, choice->message);
        return entry;
    case CHOICE_RELEASE:
        entry = new_entry(choice);
        if (*choice->version)
            doc_set_text(entry, "version", choice->version);
        set_state(entry, MODULE_UNMANAGED, NULL);
        return entry;
    case CHOICE_REMOVE:
        if (!manifest)
            return NULL;
        entry = json_deep_copy(choice->entry);
        /* Its Manifest may still say Ready: it has not noticed its deletion yet. */
        describe_manifest(entry, manifest);
        if (state_of(manifest) <= MODULE_READY)
            set_state(entry, MODULE_DELETING, NULL);
        return entry;
    }
    return NULL;
}

/* ---- Conditions ---- */

static const struct {
    const char *type, *done, *failed, *unknown;
} condition_texts[] = {
    {KYMA_CONDITION_CRDS, "CRDs are synchronized to the SKR",
     "CRDs are not synchronized to the SKR", "CRDs synchronization state is unknown"},
    {"Modules", "all modules are in ready state", "not all modules are in ready state",
     "modules state is unknown"},
    {KYMA_CONDITION_CATALOG, "module templates are synchronized",
     "module templates are out of sync and need to be resynchronized",
     "module templates synchronization state is unknown"},
};

static json_t *condition(const json_t *kyma, size_t number, enum step_state state, const char *now)
{
    const char *status = state == STEP_DONE ? "True" : state == STEP_FAILED ? "False" : "Unknown";
    const char *message = state == STEP_DONE     ? condition_texts[number].done
                          : state == STEP_FAILED ? condition_texts[number].failed
                                                 : condition_texts[number].unknown;
    const json_t *old =
        list_find(doc_get(kyma, "status.conditions"), "type", condition_texts[number].type);
    const char *since = strcmp(doc_text_or(old, "status", ""), status) == 0
                            ? doc_text_or(old, "lastTransitionTime", now)
                            : now;

    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "lastTransitionTime", since, "message",
                     message, "reason", "Ready", "observedGeneration",
                     (json_int_t)doc_integer_or(kyma, "metadata.generation", 0), "status", status,
                     "type", condition_texts[number].type);
}

/* ---- The whole ---- */

static const char *operation_text(const struct kyma_observation *observation,
                                  enum module_state state)
{
    if (observation->error)
        return observation->error;
    if (observation->is_deleting)
        return "waiting for modules to be deleted";
    return state == MODULE_READY ? "kyma is ready" : "waiting for all modules to become ready";
}

static enum module_state add_modules(const struct kyma_observation *observation, json_t *status,
                                     bool *ret_are_ready)
{
    size_t count = observation->choices->count, used = 0;
    cleanup_free enum module_state *states = xcalloc(count + 1, sizeof(*states));
    json_t *entries = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct module_choice *choice = &observation->choices->choices[i];
        json_t *entry = module_entry(choice, doc_member(observation->manifests, choice->name));

        if (!entry)
            continue;
        /* Nothing is known about a cluster that cannot be reached. */
        if (observation->error && choice->kind != CHOICE_RELEASE)
            set_state(entry, MODULE_ERROR, observation->error);
        (void)module_state_parse(doc_text(entry, "state"), &states[used++]);
        json_array_append_new(entries, entry);
    }
    if (used > 0)
        json_object_set(status, "modules", entries);
    json_decref(entries);
    *ret_are_ready = modules_are_ready(states, used);
    return kyma_state(states, used, true);
}

json_t *kyma_status(const struct kyma_observation *observation)
{
    const json_t *kyma = observation->kyma, *old = doc_get(kyma, "status");
    json_t *status = json_object(), *conditions = json_array();
    char now[TIMESTAMP_MAX];
    bool are_ready = false, are_all_true = true;
    enum module_state state = add_modules(observation, status, &are_ready);
    const enum step_state steps[] = {observation->crds, are_ready ? STEP_DONE : STEP_FAILED,
                                     observation->catalog};

    timestamp_format(observation->now_unix_ms, now);
    for (size_t i = 0; i < array_length(steps); i++) {
        if (steps[i] == STEP_ABSENT)
            continue;
        json_array_append_new(conditions, condition(kyma, i, steps[i], now));
        are_all_true &= steps[i] == STEP_DONE;
    }
    json_object_set_new(status, "conditions", conditions);
    if (state == MODULE_READY && !are_all_true)
        state = MODULE_PROCESSING;
    if (observation->error)
        state = MODULE_ERROR;
    if (observation->is_deleting)
        state = MODULE_DELETING;
    doc_set_text(status, "state", module_state_name(state));
    if (state == MODULE_READY || state == MODULE_WARNING)
        doc_set_text(status, "activeChannel", doc_text_or(kyma, "spec.channel", ""));
    else if (doc_text(old, "activeChannel"))
        doc_set_text(status, "activeChannel", doc_text(old, "activeChannel"));
    doc_set_text(status, "lastOperation.operation", operation_text(observation, state));
    doc_set_text(status, "lastOperation.lastUpdateTime",
                 doc_text_or(old, "lastOperation.lastUpdateTime", now));
    if (!old || !json_equal(doc_writable(old), status))
        doc_set_text(status, "lastOperation.lastUpdateTime", now);
    return status;
}

json_t *kyma_status_for_cluster(const json_t *status)
{
    json_t *copy = json_deep_copy(status);
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(copy, "modules"), i, entry)
    {
        (void)json_object_del(entry, "manifest");
        if (doc_get(entry, "template"))
            doc_set_text(entry, "template.metadata.namespace", KYMA_NAMESPACE);
    }
    return copy;
}
