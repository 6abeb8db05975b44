/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/environments_page.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

#define PHASE_READY "Ready" /* of an entry of status.environments */

enum state { STATE_READY, STATE_NOT_READY, STATE_INVALID, STATE_DELETING };

#define STATES                                                                                     \
    {                                                                                              \
        [STATE_READY] = {"Ready", "good"}, [STATE_NOT_READY] = {"NotReady", "busy"},               \
        [STATE_INVALID] = {"Invalid", "bad"}, [STATE_DELETING] = {"Deleting", "idle"},             \
    }

static const struct page_kind kinds[ENVIRONMENTS_PAGE_KINDS] = {
    [ENVIRONMENTS_PAGE_ENVIRONMENTS] = {.name = "environments",
                                        .title = "Environments",
                                        .type_title = "Deployers",
                                        .states = STATES},
    [ENVIRONMENTS_PAGE_REGISTRATIONS] = {.name = "deployers",
                                         .title = "Deployers",
                                         .type_title = "Environments",
                                         .states = STATES},
};

/* ---- Rows ---- */

/* Whether the condition is not as it should be. An agent of v0.98 has no heartbeat, and its
 * condition stays Unknown. */
static bool is_wrong(const json_t *condition)
{
    const char *status = doc_text_or(condition, "status", "");

    if (strcmp(doc_text_or(condition, "type", ""), "Blocked") == 0)
        return strcmp(status, "True") == 0;
    return strcmp(status, "False") == 0 ||
           strcmp(doc_text_or(condition, "reason", ""), "HeartbeatLost") == 0;
}

/* The first condition that is wrong, or NULL. */
static const json_t *find_wrong(const json_t *object)
{
    const json_t *conditions = doc_get(object, "status.conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (is_wrong(json_array_get(conditions, i)))
            return json_array_get(conditions, i);
    }
    return NULL;
}

static enum state state_of(const json_t *object, const json_t *wrong)
{
    if (doc_text(object, "metadata.deletionTimestamp"))
        return STATE_DELETING;
    if (wrong)
        return strcmp(doc_text_or(wrong, "type", ""), "Valid") == 0 ? STATE_INVALID
                                                                    : STATE_NOT_READY;
    return json_array_size(doc_get(object, "status.conditions")) > 0 ? STATE_READY
                                                                     : STATE_NOT_READY;
}

/* The last transition of a condition. */
static int64_t changed_at(const json_t *object)
{
    const json_t *conditions = doc_get(object, "status.conditions");
    int64_t latest = watched_time(object, "metadata.creationTimestamp");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        int64_t time = watched_time(json_array_get(conditions, i), "lastTransitionTime");

        latest = time > latest ? time : latest;
    }
    return latest;
}

static void read_object(const json_t *object, struct row *row)
{
    const json_t *wrong = find_wrong(object);

    row->state = (uint8_t)state_of(object, wrong);
    row->reason = doc_text_or(wrong, "reason", "");
    row->changed_unix_ms = changed_at(object);
}

static void read_environment(void *data, const json_t *object, struct row *row,
                             char scratch[ROWS_TEXT_MAX])
{
    (void)data, (void)scratch;
    read_object(object, row);
    row->type = doc_text_or(object, "status.deployers.summary", "");
}

/* Also remembers the entries, for the details of environments. */
static void read_registration(void *data, const json_t *object, struct row *row,
                              char scratch[ROWS_TEXT_MAX])
{
    const json_t *entries = doc_get(object, "status.environments");
    json_t *phases = json_object();

    (void)scratch;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);

        (void)json_object_set_new(phases, doc_text_or(entry, "name", ""),
                                  doc_new_text(doc_text_or(entry, "phase", "")));
    }
    (void)json_object_set_new(data, row->name, phases);
    read_object(object, row);
    row->type = doc_text_or(object, "status.ready", "");
}

static void forget_registration(void *data, const char *name)
{
    (void)json_object_del(data, name);
}

/* ---- Detail ---- */

static void add_related(json_t *list, enum environments_page_kind kind, const char *name,
                        const char *phase)
{
    bool is_ready = strcmp(phase, PHASE_READY) == 0;
    json_t *other = json_object();

    page_set_text(other, "kind", kinds[kind].name);
    page_set_text(other, "name", name);
    page_set_text(other, "state",
                  kinds[kind].states[is_ready ? STATE_READY : STATE_NOT_READY].name);
    page_set_text(other, "tone", kinds[kind].states[is_ready ? STATE_READY : STATE_NOT_READY].tone);
    page_set_text(other, "reason", is_ready ? "" : phase);
    (void)json_array_append_new(list, other);
}

static json_t *start_description(const json_t *object, json_t *facts)
{
    json_t *doc = json_object();

    page_add_fact(facts, "Created", doc_text(object, "metadata.creationTimestamp"));
    (void)json_object_set_new(doc, "facts", facts);
    (void)json_object_set_new(doc, "conditions",
                              page_conditions(doc_get(object, "status.conditions")));
    return doc;
}

static json_t *describe_environment(void *data, const json_t *object)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    json_t *facts = json_array(), *related = json_array(), *doc = NULL, *phases = NULL;
    const char *registration = NULL;

    page_add_fact(facts, "Namespace", doc_text(object, "spec.namespace"));
    page_add_fact(facts, "Landscaper", doc_text(object, "spec.landscaperClusterConfig.host"));
    page_add_fact(facts, "Deployers", doc_text(object, "status.deployers.summary"));
    page_add_fact(facts, "Agent", doc_text(object, "status.agent.version"));
    doc = start_description(object, facts);
    doc_foreach(data, registration, phases)
    {
        const char *phase = json_string_value(json_object_get(phases, name));

        if (phase)
            add_related(related, ENVIRONMENTS_PAGE_REGISTRATIONS, registration, phase);
    }
    page_set_text(doc, "relatedTitle", "Deployers");
    (void)json_object_set_new(doc, "related", related);
    return doc;
}

static json_t *describe_registration(void *data, const json_t *object)
{
    const json_t *entries = doc_get(object, "status.environments");
    const json_t *types = doc_get(object, "spec.types");
    json_t *facts = json_array(), *related = json_array(), *doc = NULL;

    (void)data;
    for (size_t i = 0; i < json_array_size(types); i++)
        page_add_fact(facts, "Type", json_string_value(json_array_get(types, i)));
    page_add_fact(facts, "Environments", doc_text(object, "status.ready"));
    doc = start_description(object, facts);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);

        add_related(related, ENVIRONMENTS_PAGE_ENVIRONMENTS, doc_text_or(entry, "name", ""),
                    doc_text_or(entry, "phase", ""));
    }
    page_set_text(doc, "relatedTitle", "Environments");
    (void)json_object_set_new(doc, "related", related);
    return doc;
}

static const struct watched_kind watched[ENVIRONMENTS_PAGE_KINDS] = {
    [ENVIRONMENTS_PAGE_ENVIRONMENTS] = {{LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                         RESOURCE_ENVIRONMENTS},
                                        read_environment,
                                        describe_environment,
                                        NULL},
    [ENVIRONMENTS_PAGE_REGISTRATIONS] = {{LANDSCAPER_GROUP, LANDSCAPER_VERSION,
                                          RESOURCE_DEPLOYER_REGISTRATIONS},
                                         read_registration,
                                         describe_registration,
                                         forget_registration},
};

const struct watched_options ENVIRONMENTS_PAGE = {.program = "registrations",
                                                  .kinds = kinds,
                                                  .watched = watched,
                                                  .kind_count = ENVIRONMENTS_PAGE_KINDS};
