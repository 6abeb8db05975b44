/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/clusters_page.h"

#include <string.h>

#include "common/data/doc.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state.h"

#define STATES                                                                                     \
    {                                                                                              \
        [MODULE_UNMANAGED] = {"Unmanaged", "idle"}, [MODULE_READY] = {"Ready", "good"},            \
        [MODULE_DELETING] = {"Deleting", "busy"}, [MODULE_PROCESSING] = {"Processing", "busy"},    \
        [MODULE_WARNING] = {"Warning", "bad"}, [MODULE_ERROR] = {"Error", "bad"},                  \
    }

static const struct page_kind kinds[CLUSTERS_PAGE_KINDS] = {
    [CLUSTERS_PAGE_KYMAS] = {.name = "clusters",
                             .title = "Clusters",
                             .type_title = "Channel",
                             .states = STATES},
    [CLUSTERS_PAGE_MANIFESTS] = {.name = "modules",
                                 .title = "Modules",
                                 .type_title = "Module",
                                 .namespace_title = "Cluster",
                                 .states = STATES},
};

/* ---- Rows ---- */

static enum module_state state_of(const char *text)
{
    enum module_state state = MODULE_PROCESSING;

    (void)module_state_parse(text, &state);
    return state;
}

static void read_status(const json_t *object, struct row *row)
{
    enum module_state state = state_of(doc_text(object, "status.state"));

    row->state = (uint8_t)state;
    row->changed_unix_ms = watched_time(object, "status.lastOperation.lastUpdateTime");
    /* The reason of every condition is "Ready", whatever its status: only the type says something.
     */
    if (state != MODULE_READY)
        row->reason = watched_untrue(doc_get(object, "status.conditions"));
}

static void read_kyma(void *data, const json_t *object, struct row *row,
                      char scratch[ROWS_TEXT_MAX])
{
    (void)data, (void)scratch;
    read_status(object, row);
    row->type = doc_text_or(object, "spec.channel", "");
}

static void read_manifest(void *data, const json_t *object, struct row *row,
                          char scratch[ROWS_TEXT_MAX])
{
    const char *version = doc_text_or(object, "spec.version", "");

    (void)data;
    read_status(object, row);
    (void)snprintf(scratch, ROWS_TEXT_MAX, "%s%s%s", watched_label(object, KYMA_LABEL_MODULE_NAME),
                   *version ? " " : "", version);
    row->namespace_name = watched_label(object, KYMA_LABEL_KYMA_NAME);
    row->type = scratch;
}

/* ---- Detail ---- */

static json_t *facts_of(const json_t *object)
{
    json_t *facts = json_array();

    page_add_fact(facts, "Cluster", watched_label(object, KYMA_LABEL_KYMA_NAME));
    page_add_fact(facts, "Module", watched_label(object, KYMA_LABEL_MODULE_NAME));
    page_add_fact(facts, "Version", doc_text(object, "spec.version"));
    page_add_fact(facts, "Channel", doc_text(object, "spec.channel"));
    page_add_fact(facts, "Active channel", doc_text(object, "status.activeChannel"));
    page_add_fact(facts, "Plan", watched_label(object, KYMA_LABEL_PLAN));
    page_add_fact(facts, "Region", watched_label(object, KYMA_LABEL_REGION));
    page_add_fact(facts, "Last change", doc_text(object, "status.lastOperation.lastUpdateTime"));
    page_add_fact(facts, "Created", doc_text(object, "metadata.creationTimestamp"));
    return facts;
}

/* The modules of a cluster, as the status of its Kyma lists them. */
static json_t *modules_of(const json_t *kyma)
{
    const json_t *modules = doc_get(kyma, "status.modules");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *module = json_array_get(modules, i);
        const struct page_state *state =
            &kinds[CLUSTERS_PAGE_MANIFESTS].states[state_of(doc_text(module, "state"))];
        const char *manifest = doc_text(module, "manifest.metadata.name");
        json_t *other = json_object();

        if (manifest) {
            page_set_text(other, "kind", kinds[CLUSTERS_PAGE_MANIFESTS].name);
            page_set_text(other, "namespace", doc_text(kyma, "metadata.name"));
        }
        page_set_text(other, "name", manifest ? manifest : doc_text(module, "name"));
        page_set_text(other, "state", state->name);
        page_set_text(other, "tone", state->tone);
        page_set_text(other, "reason", doc_text(module, "version"));
        (void)json_array_append_new(list, other);
    }
    return list;
}

static json_t *error_of(const json_t *object)
{
    const char *operation = doc_text_or(object, "status.lastOperation.operation", "");
    enum module_state state = state_of(doc_text(object, "status.state"));
    json_t *error = NULL;

    if ((state != MODULE_ERROR && state != MODULE_WARNING) || !*operation)
        return NULL;
    error = json_object();
    page_set_text(error, "reason", module_state_name(state));
    (void)json_object_set_new(error, "message", page_first_line(operation));
    return error;
}

/* Only what is named here leaves the process. */
static json_t *describe(void *data, const json_t *object)
{
    json_t *doc = json_object(), *error = error_of(object);

    (void)data;
    (void)json_object_set_new(doc, "facts", facts_of(object));
    if (error)
        (void)json_object_set_new(doc, "error", error);
    (void)json_object_set_new(doc, "conditions",
                              page_conditions(doc_get(object, "status.conditions")));
    page_set_text(doc, "relatedTitle", "Modules");
    (void)json_object_set_new(doc, "related", modules_of(object));
    return doc;
}

static const struct watched_kind watched[CLUSTERS_PAGE_KINDS] = {
    [CLUSTERS_PAGE_KYMAS] = {{KYMA_GROUP, "v1beta2", "kymas"}, read_kyma, describe, NULL},
    [CLUSTERS_PAGE_MANIFESTS] = {{KYMA_GROUP, "v1beta2", "manifests"},
                                 read_manifest,
                                 describe,
                                 NULL},
};

const struct watched_options CLUSTERS_PAGE = {
    .program = "lifecycle", .kinds = kinds, .watched = watched, .kind_count = CLUSTERS_PAGE_KINDS};
