/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/clusters_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state.h"
#include "deployer/page/page.h"

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
                                 .states = STATES},
};

static const struct kube_resource resources[CLUSTERS_PAGE_KINDS] = {
    [CLUSTERS_PAGE_KYMAS] = {KYMA_GROUP, "v1beta2", "kymas"},
    [CLUSTERS_PAGE_MANIFESTS] = {KYMA_GROUP, "v1beta2", "manifests"},
};

struct clusters_page {
    struct clusters_page_options options;
    struct page *page;
    /* name -> cluster that the row was shown for ("" for clusters themselves) */
    json_t *shown[CLUSTERS_PAGE_KINDS];
    json_t *listed[CLUSTERS_PAGE_KINDS]; /* names in the list that is being read; else NULL */
    bool is_synced[CLUSTERS_PAGE_KINDS];
};

/* ---- Rows ---- */

static const char *label_of(const json_t *object, const char *label)
{
    const char *value = json_string_value(doc_member(doc_get(object, "metadata.labels"), label));

    return value ? value : "";
}

static int64_t time_of(const json_t *object, const char *path)
{
    const char *text = doc_text(object, path);
    struct error err = {0};
    int64_t unix_ms = 0;

    return text && timestamp_parse(text, &unix_ms, &err) == 0 && unix_ms > 0 ? unix_ms : 0;
}

/* The reason of the first condition that is not true. */
static const char *reason_of(const json_t *object)
{
    const json_t *conditions = doc_get(object, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (strcmp(doc_text_or(condition, "status", ""), "True") != 0)
            return doc_text_or(condition, "reason", "");
    }
    return "";
}

static enum module_state state_of(const json_t *object)
{
    enum module_state state = MODULE_PROCESSING;

    (void)module_state_parse(doc_text(object, "status.state"), &state);
    return state;
}

static void remove_row(struct clusters_page *page, enum clusters_page_kind kind, const char *name)
{
    const char *cluster = json_string_value(json_object_get(page->shown[kind], name));

    if (!cluster)
        return;
    page_remove_row(page->page, kind, cluster, name);
    (void)json_object_del(page->shown[kind], name);
}

static void set_row(struct clusters_page *page, enum clusters_page_kind kind, const json_t *object)
{
    bool is_module = kind == CLUSTERS_PAGE_MANIFESTS;
    const char *version = doc_text_or(object, "spec.version", "");
    cleanup_free char *module =
        xasprintf("%s%s%s", label_of(object, KYMA_LABEL_MODULE_NAME), *version ? " " : "", version);
    enum module_state state = state_of(object);
    struct row row = {.namespace_name = is_module ? label_of(object, KYMA_LABEL_KYMA_NAME) : "",
                      .name = doc_text_or(object, "metadata.name", ""),
                      .type = is_module ? module : doc_text_or(object, "spec.channel", ""),
                      .reason = state == MODULE_READY ? "" : reason_of(object),
                      .state = (uint8_t)state,
                      .changed_unix_ms = time_of(object, "status.lastOperation.lastUpdateTime")};
    const char *old = json_string_value(json_object_get(page->shown[kind], row.name));

    if (old && strcmp(old, row.namespace_name) != 0)
        remove_row(page, kind, row.name);
    (void)json_object_set_new(page->shown[kind], row.name, doc_new_text(row.namespace_name));
    if (page->listed[kind])
        (void)json_object_set_new(page->listed[kind], row.name, json_true());
    page_set_row(page->page, kind, &row);
}

static void end_list(struct clusters_page *page, enum clusters_page_kind kind)
{
    cleanup_json json_t *gone = json_array();
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    doc_foreach(page->shown[kind], name, value)
    {
        if (!json_object_get(page->listed[kind], name))
            (void)json_array_append_new(gone, json_string(name));
    }
    json_array_foreach(gone, i, value)
    {
        remove_row(page, kind, json_string_value(value));
    }
    json_decref(steal(&page->listed[kind]));
    page->is_synced[kind] = true;
}

void clusters_page_event(struct clusters_page *page, enum clusters_page_kind kind,
                         enum kube_event event, const json_t *object)
{
    if (!page)
        return;
    switch (event) {
    case KUBE_EVENT_LISTING:
        json_decref(page->listed[kind]);
        page->listed[kind] = json_object();
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        set_row(page, kind, object);
        break;
    case KUBE_EVENT_DELETED:
        remove_row(page, kind, doc_text_or(object, "metadata.name", ""));
        break;
    case KUBE_EVENT_SYNCED:
        end_list(page, kind);
        break;
    case KUBE_EVENT_BROKEN:
    case KUBE_EVENT_REWOUND:
        break; /* a list follows */
    }
}

/* ---- Detail ---- */

static json_t *facts_of(const json_t *object)
{
    json_t *facts = json_array();

    page_add_fact(facts, "Cluster", label_of(object, KYMA_LABEL_KYMA_NAME));
    page_add_fact(facts, "Module", label_of(object, KYMA_LABEL_MODULE_NAME));
    page_add_fact(facts, "Version", doc_text(object, "spec.version"));
    page_add_fact(facts, "Channel", doc_text(object, "spec.channel"));
    page_add_fact(facts, "Active channel", doc_text(object, "status.activeChannel"));
    page_add_fact(facts, "Plan", label_of(object, KYMA_LABEL_PLAN));
    page_add_fact(facts, "Region", label_of(object, KYMA_LABEL_REGION));
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
        enum module_state state = MODULE_PROCESSING;
        json_t *other = json_object();

        (void)module_state_parse(doc_text(module, "state"), &state);
        page_set_text(other, "name", doc_text(module, "name"));
        page_set_text(other, "state", kinds[CLUSTERS_PAGE_MANIFESTS].states[state].name);
        page_set_text(other, "tone", kinds[CLUSTERS_PAGE_MANIFESTS].states[state].tone);
        page_set_text(other, "reason", doc_text(module, "version"));
        (void)json_array_append_new(list, other);
    }
    return list;
}

static json_t *error_of(const json_t *object)
{
    const char *operation = doc_text_or(object, "status.lastOperation.operation", "");
    enum module_state state = state_of(object);
    json_t *error = NULL;

    if ((state != MODULE_ERROR && state != MODULE_WARNING) || !*operation)
        return NULL;
    error = json_object();
    page_set_text(error, "reason", module_state_name(state));
    (void)json_object_set_new(error, "message", page_first_line(operation));
    return error;
}

static void on_object(void *data, json_t *object, const struct error *err)
{
    struct page_detail *detail = data;
    json_t *doc = NULL, *error = NULL;

    page_detail_set_call(detail, NULL);
    if (err->kind != ERROR_NONE) {
        page_detail_answer(detail, NULL, err);
        return;
    }
    doc = json_object();
    error = error_of(object);
    (void)json_object_set_new(doc, "facts", facts_of(object));
    if (error)
        (void)json_object_set_new(doc, "error", error);
    (void)json_object_set_new(doc, "conditions",
                              page_conditions(doc_get(object, "status.conditions")));
    page_set_text(doc, "relatedTitle", "Modules");
    (void)json_object_set_new(doc, "related", modules_of(object));
    page_detail_answer(detail, doc, NULL);
}

static void show_detail(void *data, size_t kind, const char *namespace_name, const char *name,
                        struct page_detail *detail)
{
    static const char *const skipped[] = {"metadata.managedFields", "status.synced", NULL};
    const struct clusters_page *page = data;
    const struct kube_request request = {.verb = KUBE_GET,
                                         .resource = resources[kind],
                                         .namespace_name = page->options.namespace_name,
                                         .name = name,
                                         .skipped_members = skipped,
                                         .timeout_ms = PAGE_REQUEST_TIMEOUT_MS,
                                         .on_done = on_object,
                                         .data = detail};
    struct kube_call *call = NULL;
    struct error err = {0};

    (void)namespace_name;
    if (kube_start(page->options.kube, &request, &call, &err) < 0)
        page_detail_answer(detail, NULL, &err);
    else
        page_detail_set_call(detail, call);
}

/* ---- The process ---- */

static void describe(void *data, json_t *facts)
{
    const struct clusters_page *page = data;

    page_add_fact(facts, "Role",
                  page->options.is_leader(page->options.data) ? "leader" : "standby");
}

static bool is_synced(void *data)
{
    const struct clusters_page *page = data;

    return page->is_synced[CLUSTERS_PAGE_KYMAS] && page->is_synced[CLUSTERS_PAGE_MANIFESTS];
}

static const struct page_source SOURCE = {.program = "lifecycle",
                                          .kinds = kinds,
                                          .kind_count = CLUSTERS_PAGE_KINDS,
                                          .resource = {KYMA_GROUP, "v1beta2", "kymas"},
                                          .describe = describe,
                                          .is_synced = is_synced,
                                          .detail = show_detail};

struct clusters_page *clusters_page_new(const struct clusters_page_options *options,
                                        struct server *server)
{
    struct clusters_page *page = xcalloc(1, sizeof(*page));
    const struct page_options page_options = {.loop = options->loop,
                                              .kube = options->kube,
                                              .is_authenticated = options->is_authenticated,
                                              .source = &SOURCE,
                                              .data = page};

    page->options = *options;
    page->page = page_new(&page_options);
    for (size_t i = 0; i < CLUSTERS_PAGE_KINDS; i++)
        page->shown[i] = json_object();
    page_attach(page->page, server);
    return page;
}

void clusters_page_free(struct clusters_page *page)
{
    if (!page)
        return;
    page_free(page->page);
    for (size_t i = 0; i < CLUSTERS_PAGE_KINDS; i++) {
        json_decref(page->shown[i]);
        json_decref(page->listed[i]);
    }
    free(page);
}
