/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/items_timeline.h"

#include <string.h>

#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/page/page.h"

static void add(json_t *list, const char *name, const struct view_step *step)
{
    json_t *entry = json_object();

    page_set_text(entry, "name", name);
    page_set_text(entry, "state", step_state_name(step->state));
    page_set_time(entry, "startedAt", step->started_unix_ms);
    page_set_time(entry, "finishedAt", step->finished_unix_ms);
    page_set_text(entry, "detail", step->detail);
    (void)json_array_append_new(list, entry);
}

/* A phase between two moments; finished 0: not yet. */
static struct view_step between(int64_t started_unix_ms, int64_t finished_unix_ms, bool is_open)
{
    struct view_step step = {.started_unix_ms = started_unix_ms,
                             .finished_unix_ms = finished_unix_ms,
                             .state = is_open ? STEP_PENDING : STEP_SKIPPED};

    if (!started_unix_ms)
        return step;
    if (finished_unix_ms)
        step.state = STEP_DONE;
    else if (is_open)
        step.state = STEP_RUNNING;
    return step;
}

static void add_pod(json_t *list, const struct view *view)
{
    const struct view_step *wait = &view->steps[STEP_WAIT];
    struct view_step scheduling =
        between(view->started_unix_ms, view->steps[STEP_INIT].started_unix_ms, view->is_open);
    struct view_step export =
        between(wait->finished_unix_ms, view->finished_unix_ms, view->is_open);

    if (view->steps[STEP_EXPORTED].state == STEP_SKIPPED)
        export = (struct view_step){.state = STEP_SKIPPED};
    add(list, "scheduling", &scheduling);
    add(list, "init", &view->steps[STEP_INIT]);
    add(list, "main", &view->steps[STEP_MAIN]);
    add(list, "wait", wait);
    add(list, "export", &export);
}

json_t *items_timeline(const json_t *item, const struct view *view)
{
    json_t *list = json_array();
    struct view_step pick_up =
        between(view->steps[STEP_TRIGGERED].finished_unix_ms, view->started_unix_ms, view->is_open);
    struct view_step apply = between(view->started_unix_ms, view->finished_unix_ms, view->is_open);

    if (!*view->job)
        return list;
    add(list, "pick-up", &pick_up);
    if (strcmp(doc_text_or(item, "spec.type", ""), DEPLOY_ITEM_TYPE_MANIFEST) != 0) {
        add_pod(list, view);
        return list;
    }
    if (view->is_failed)
        apply.state = STEP_FAILED;
    add(list, "apply", &apply);
    return list;
}
