/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/view.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/conditions.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/types.h"

enum { SUB_INSTALLATIONS_MAX = 16 }; /* levels; more is a cycle of owners */

bool view_is_deleting(const json_t *object)
{
    return doc_text(object, "metadata.deletionTimestamp");
}

const char *view_annotation(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, "metadata.annotations"), key));
}

static json_t *stub_of(const char *name)
{
    return json_pack("{s:{s:s}}", "metadata", "name", name);
}

/* ---- the candidates ---- */

/* Types of the items that Landscaper has made for the Installation and that are to be served in
 * this environment. */
static void add_observed(const struct environment_view *view, const char *installation,
                         json_t *needs, int depth)
{
    const char *host_mark = view_annotation(manager_find(view->manager, SOURCE_TARGETS, view->name),
                                            ANNOTATION_ENVIRONMENT);
    const char *item = NULL;
    json_t *facts = NULL;

    doc_foreach(doc_member(view->manager->rendered, installation), item, facts)
    {
        const char *target = json_string_value(json_array_get(facts, 1));
        const char *mark = view_annotation(manager_find(view->manager, SOURCE_TARGETS, target),
                                           ANNOTATION_ENVIRONMENT);

        if (strcmp(target, view->name) == 0 || (mark && host_mark && strcmp(mark, host_mark) == 0))
            (void)json_array_append(needs, json_array_get(facts, 0));
    }
    if (depth == SUB_INSTALLATIONS_MAX || !doc_member(view->manager->children, installation))
        return;
    doc_foreach(doc_member(view->manager->children, installation), item, facts)
    {
        add_observed(view, item, needs, depth + 1);
    }
}

static void add_candidate(struct environment_view *view, const char *name)
{
    struct manager *manager = view->manager;
    const char *installation = json_string_value(known_get(manager->installed, view->name, name));
    struct candidate *candidate = NULL;

    for (size_t i = 0; i < view->count; i++) {
        if (strcmp(view->candidates[i].name, name) == 0)
            return;
    }
    view->candidates = xreallocarray(view->candidates, view->count + 1, sizeof(*view->candidates));
    candidate = &view->candidates[view->count++];
    *candidate = (struct candidate){
        .name = name,
        .registration = manager_find(manager, SOURCE_REGISTRATIONS, name),
        .installation =
            installation ? manager_find(manager, SOURCE_INSTALLATIONS, installation) : NULL};
    candidate->exists = candidate->registration;
    if (!candidate->exists)
        candidate->registration = candidate->stub = stub_of(name);
    else {
        cleanup_mistakes struct mistakes mistakes = {0};

        registration_check(candidate->registration, &mistakes);
        candidate->is_valid = mistakes.errors == 0;
    }
    candidate->is_leaving =
        !candidate->exists || view_is_deleting(candidate->registration) || view->is_leaving;
}

static void collect(struct environment_view *view)
{
    struct manager *manager = view->manager;
    const char *name = NULL;
    json_t *value = NULL;

    doc_foreach(manager->sources[SOURCE_REGISTRATIONS].objects, name, value)
    {
        add_candidate(view, name);
    }
    if (doc_member(manager->installed, view->name))
        doc_foreach(doc_member(manager->installed, view->name), name, value)
        {
            add_candidate(view, name);
        }
    if (doc_member(manager->owned, view->name))
        doc_foreach(doc_member(manager->owned, view->name), name, value)
        {
            add_candidate(view, name);
        }
}

static void build_graph(struct environment_view *view)
{
    view->deployers = xcalloc(view->count + 1, sizeof(*view->deployers));
    view->is_installed = xcalloc(view->count + 1, sizeof(bool));
    view->is_leaving_list = xcalloc(view->count + 1, sizeof(bool));
    view->base = environment_base_types(view->environment, view->manager->settings.external_types);
    view->base_list = type_list(view->base);
    for (size_t i = 0; i < view->count; i++) {
        struct candidate *candidate = &view->candidates[i];
        const json_t *declared = doc_get(candidate->registration, "spec.requiredTypes");

        candidate->needs = json_is_array(declared) ? json_deep_copy(declared) : json_array();
        if (candidate->installation)
            add_observed(view, doc_text_or(candidate->installation, "metadata.name", ""),
                         candidate->needs, 0);
        candidate->need_list = type_list(candidate->needs);
        candidate->type_list = type_list(doc_get(candidate->registration, "spec.types"));
        view->is_installed[i] = candidate->installation;
        view->is_leaving_list[i] = candidate->is_leaving;
        view->deployers[i] = (struct graph_deployer){
            .name = candidate->name,
            .provides = candidate->type_list,
            .needs = candidate->need_list,
            .serves_host = registration_serves_host(view->environment, candidate->name,
                                                    view->manager->settings.namespace_name),
            .is_ready = candidate->installation && installation_is_ready(candidate->installation),
            .phase = doc_text(candidate->installation, "status.phase"),
        };
    }
    graph_solve(view->deployers, view->count, view->base_list, &view->graph);
}

void environment_view_init(struct environment_view *view, struct manager *manager, const char *name)
{
    cleanup_mistakes struct mistakes mistakes = {0};

    *view =
        (struct environment_view){.manager = manager,
                                  .name = name,
                                  .environment = manager_find(manager, SOURCE_ENVIRONMENTS, name)};
    view->exists = view->environment;
    if (!view->exists)
        view->environment = view->stub = stub_of(name);
    view->is_accepted =
        environment_is_accepted(view->environment, manager->settings.is_acceptance_manual);
    view->is_leaving = !view->exists || view_is_deleting(view->environment);
    if (view->exists)
        environment_check(view->environment, &mistakes);
    view->is_valid = mistakes.errors == 0;
    if (!view->is_valid)
        view->problem = mistakes_text(&mistakes);
    collect(view);
    build_graph(view);
}

void environment_view_done(struct environment_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        json_decref(view->candidates[i].stub);
        json_decref(view->candidates[i].needs);
        free(view->candidates[i].need_list);
        free(view->candidates[i].type_list);
    }
    free(view->candidates);
    graph_done(&view->graph);
    free(view->deployers);
    free(view->is_installed);
    free(view->is_leaving_list);
    free(view->base_list);
    json_decref(view->base);
    json_decref(view->stub);
    free(view->problem);
}
