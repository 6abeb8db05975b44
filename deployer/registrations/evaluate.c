/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at one environment at a time, and at its pairs (pairs.c), and at registrations. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/manager.h"
#include "deployer/registrations/view.h"

/* ---- the environment itself ---- */

/* Finalizer and host Target come first: what they protect does not exist before. */
static void prepare(struct environment_view *view)
{
    struct manager *manager = view->manager;
    const json_t *target = manager_find(manager, SOURCE_TARGETS, view->name);
    cleanup_json json_t *patch = finalizer_patch(view->environment, FINALIZER_MANAGEMENT, true);
    cleanup_json json_t *wanted = NULL;

    if (patch) {
        act_on_object(manager, "", view->name, KUBE_PATCH_JSON, KUBE_ENVIRONMENTS,
                      SOURCE_ENVIRONMENTS, view->name, patch);
        return;
    }
    if (target && pair_host_target_is_current(view->environment, target)) {
        view->is_prepared = true;
        return;
    }
    if (target && !pair_owns_host_target(view->environment, target)) {
        view->problem =
            xasprintf("a Target %s/%s exists and does not belong to this environment; rename "
                      "or delete it",
                      manager->settings.namespace_name, view->name);
        (void)json_object_set_new(manager->problems, view->name, doc_new_text(view->problem));
        return;
    }
    wanted = pair_host_target(view->environment, manager->settings.namespace_name);
    if (target)
        doc_set_text(wanted, "metadata.resourceVersion",
                     doc_text_or(target, "metadata.resourceVersion", ""));
    act_on_object(manager, "", view->name, target ? KUBE_UPDATE : KUBE_CREATE, KUBE_TARGETS,
                  SOURCE_TARGETS, view->name, wanted);
}

/* The last steps of a deletion, when no pair is left. */
static void finish(struct environment_view *view)
{
    struct manager *manager = view->manager;
    const json_t *target = manager_find(manager, SOURCE_TARGETS, view->name);
    cleanup_json json_t *patch = finalizer_patch(view->environment, FINALIZER_MANAGEMENT, false);

    if (doc_member(manager->installed, view->name) || doc_member(manager->owned, view->name) ||
        leave_for_agent(view))
        return;
    if (target && pair_owns_host_target(view->environment, target))
        act_on_object(manager, "", view->name, KUBE_DELETE, KUBE_TARGETS, SOURCE_TARGETS,
                      view->name, NULL);
    else if (patch)
        act_on_object(manager, "", view->name, KUBE_PATCH_JSON, KUBE_ENVIRONMENTS,
                      SOURCE_ENVIRONMENTS, view->name, patch);
}

static void evaluate(struct manager *manager, const char *name)
{
    struct environment_view view = {0};

    environment_view_init(&view, manager, name);
    (void)json_object_del(manager->problems, name);
    if (!view.is_leaving && view.is_valid && view.is_accepted)
        prepare(&view);
    for (size_t i = 0; i < view.count; i++)
        evaluate_pair(&view, view.graph.order[i]);
    if (view.exists && view.is_leaving)
        finish(&view);
    if (view.exists)
        report_touch(manager, 'e', name);
    environment_view_done(&view);
}

/* ---- registrations ---- */

static bool is_used(const struct manager *manager, const char *registration)
{
    const json_t *const maps[] = {manager->installed, manager->owned};
    const char *environment = NULL;
    json_t *inner = NULL;

    for (size_t i = 0; i < array_length(maps); i++) {
        doc_foreach(maps[i], environment, inner)
        {
            if (json_object_get(inner, registration))
                return true;
        }
    }
    return false;
}

static void evaluate_registration(struct manager *manager, const char *name,
                                  const json_t *registration)
{
    bool is_leaving = view_is_deleting(registration);
    cleanup_json json_t *patch = finalizer_patch(registration, FINALIZER_MANAGEMENT, !is_leaving);

    report_touch(manager, 'r', name);
    if (patch && (!is_leaving || !is_used(manager, name)))
        act_on_object(manager, name, "", KUBE_PATCH_JSON, KUBE_DEPLOYER_REGISTRATIONS,
                      SOURCE_REGISTRATIONS, name, patch);
}

static void add_keys(json_t *names, const json_t *map)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(map, key, value)
    {
        (void)json_object_set_new(names, key, json_true());
    }
}

void evaluate_all(void *data)
{
    struct manager *manager = data;
    cleanup_json json_t *names = NULL;
    const char *name = NULL;
    json_t *value = NULL;
    void *next = NULL;

    if (!manager_may_write(manager)) {
        /* There is no event for a lease that was too old for a moment. */
        loop_timer_start(&manager->pass_timer, MANAGER_LOOK_AGAIN_MS);
        return;
    }
    names = manager->dirty;
    manager->dirty = json_object();
    if (manager->is_all_dirty) {
        add_keys(names, manager->sources[SOURCE_ENVIRONMENTS].objects);
        add_keys(names, manager->installed);
        add_keys(names, manager->owned);
    }
    manager->is_all_dirty = false;
    doc_foreach(names, name, value)
    {
        if (manager->running >= MANAGER_TASKS_MAX) {
            /* Continued when a request ends. */
            (void)json_object_set_new(manager->dirty, name, json_true());
            continue;
        }
        evaluate(manager, name);
        manager_close(manager);
    }
    json_object_foreach_safe(manager->sources[SOURCE_REGISTRATIONS].objects, next, name, value)
    {
        evaluate_registration(manager, name, value);
    }
    log_debug("all environments evaluated");
}
