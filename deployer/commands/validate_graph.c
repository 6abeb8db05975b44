/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/validate_graph.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/commands/validate_object.h"
#include "deployer/registrations/graph.h"
#include "deployer/registrations/kinds.h"
#include "deployer/registrations/types.h"

/* A registration of the bundle. */
struct candidate {
    const json_t *object;
    struct origin origin;
    json_t *needs;
    const char **need_list, **type_list; /* with NULL at the end; borrow from needs and object */
};

struct candidates {
    struct candidate *items;
    size_t count;
    bool is_guess; /* needs of at least one were found in a text */
};

static bool is_kind(const json_t *object, const char *kind)
{
    return strcmp(doc_text_or(object, "kind", ""), kind) == 0;
}

static void collect(const struct bundle *bundle, const struct origin *origins,
                    struct candidates *ret_candidates)
{
    size_t total = json_array_size(bundle->objects);

    ret_candidates->items = xcalloc(total + 1, sizeof(*ret_candidates->items));
    for (size_t i = 0; i < total; i++) {
        const json_t *object = json_array_get(bundle->objects, i);
        struct candidate *candidate = &ret_candidates->items[ret_candidates->count];
        bool is_guess = false;

        if (!is_kind(object, KIND_DEPLOYER_REGISTRATION))
            continue;
        *candidate = (struct candidate){
            .object = object, .origin = origins[i], .needs = registration_needs(object, &is_guess)};
        candidate->need_list = type_list(candidate->needs);
        candidate->type_list = type_list(doc_get(object, "spec.types"));
        ret_candidates->is_guess |= is_guess && json_array_size(candidate->needs) > 0;
        ret_candidates->count++;
    }
}

static void candidates_done(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        json_decref(candidates->items[i].needs);
        free(candidates->items[i].need_list);
        free(candidates->items[i].type_list);
    }
    free(candidates->items);
}

static void check_environment(const json_t *environment, const struct candidates *candidates,
                              struct findings *findings)
{
    cleanup_json json_t *base = environment_base_types(environment, NULL);
    cleanup_free const char **base_list = type_list(base);
    cleanup_free struct graph_deployer *deployers =
        xcalloc(candidates->count + 1, sizeof(*deployers));
    struct graph graph = {0};

    for (size_t i = 0; i < candidates->count; i++) {
        const struct candidate *candidate = &candidates->items[i];
        const char *name = doc_text_or(candidate->object, "metadata.name", "");

        deployers[i] = (struct graph_deployer){
            .name = name,
            .provides = candidate->type_list,
            .needs = candidate->need_list,
            .serves_host = registration_serves_host(environment, name, DEPLOYERS_NAMESPACE),
        };
    }
    graph_solve(deployers, candidates->count, base_list, &graph);
    for (size_t i = 0; i < graph.count; i++) {
        const struct graph_verdict *verdict = &graph.verdicts[i];
        cleanup_free char *title = object_title(candidates->items[i].object);
        cleanup_free char *text = NULL;
        bool is_error = verdict->state == GRAPH_DEPENDENCY_CYCLE && !candidates->is_guess;

        if (!graph_is_blocked(verdict->state))
            continue;
        text = xasprintf("in environment %s: %s: %s", doc_text_or(environment, "metadata.name", ""),
                         graph_reason(verdict->state), verdict->message);
        findings_add(findings, candidates->items[i].origin, title, "spec", text, !is_error);
    }
    graph_done(&graph);
}

void graph_check(const struct bundle *bundle, const struct origin *origins,
                 struct findings *findings)
{
    struct candidates candidates = {0};

    collect(bundle, origins, &candidates);
    for (size_t i = 0; i < json_array_size(bundle->objects) && candidates.count > 0; i++) {
        const json_t *object = json_array_get(bundle->objects, i);

        if (is_kind(object, KIND_ENVIRONMENT))
            check_environment(object, &candidates, findings);
    }
    candidates_done(&candidates);
}
