/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/manifest/late.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/data/duration.h"
#include "common/data/timestamp.h"
#include "deployer/item/status.h"
#include "deployer/validation/cron.h"

/* ---- Life ---- */

static void on_timer(void *data)
{
    late_look(data);
}

static void disconnect(struct late_item *late)
{
    late_watch_free(late->watch);
    late->watch = NULL;
    late->is_due = false;
}

static void late_free(struct late_item *late)
{
    if (!late)
        return;
    disconnect(late);
    loop_timer_stop(&late->timer);
    *late->link = late->next;
    if (late->next)
        late->next->link = late->link;
    late->engine->late_count--;
    free(late->job);
    free(late->cron);
    free(late->shown);
    free(late);
}

void late_untrack(struct record *record)
{
    late_free(record->tracked);
    record->tracked = NULL;
}

void late_item_gone(struct engine *engine, const char *namespace_name, const char *name)
{
    struct record *record = index_find(engine->controller->index, namespace_name, name);

    if (record && record->tracked)
        late_untrack(record);
}

void late_stop_all(struct manifest_engine *engine)
{
    for (struct late_item *late = engine->lates; late; late = late->next)
        disconnect(late);
}

void late_look_all(struct manifest_engine *engine)
{
    for (struct late_item *late = engine->lates; late; late = late->next)
        loop_timer_start(&late->timer, 0);
}

static struct late_item *late_new(struct manifest_engine *engine, struct record *record)
{
    struct late_item *late = xcalloc(1, sizeof(*late));

    late->engine = engine;
    late->record = record;
    late->next = engine->lates;
    late->link = &engine->lates;
    if (late->next)
        late->next->link = &late->next;
    engine->lates = late;
    engine->late_count++;
    loop_timer_init(&late->timer, engine->base.controller->loop, on_timer, late);
    record->tracked = late;
    return late;
}

/* ---- From an item ---- */

static struct late_rules rules_of(const struct engine *engine, const struct item *item)
{
    const struct deployer_config *config = engine->controller->config;
    struct late_rules rules = manifest_config_late_rules(item->config);

    rules.is_trigger_allowed = config->is_late_trigger;
    if (rules.interval_ms < config->late_interval_ms)
        rules.interval_ms = config->late_interval_ms;
    return rules;
}

/* Only the end of a job that executed the present configuration can be compared with. */
static bool is_watched(const struct item *item, const struct late_rules *rules)
{
    return rules->level != LATE_LEVEL_NONE && !item->is_deleting && *item->job &&
           item_is_finished(item) && strcmp(item->phase, PHASE_SUCCEEDED) == 0 &&
           item->generation == item->observed_generation;
}

bool late_is_continuous(const struct engine *engine, const struct item *item)
{
    struct late_rules rules = rules_of(engine, item);

    return rules.level == LATE_LEVEL_TRIGGER && rules.is_trigger_allowed;
}

static int64_t time_at(const json_t *document, const char *path)
{
    int64_t unix_ms = 0;
    struct error err = {0};

    return timestamp_parse(doc_text_or(document, path, ""), &unix_ms, &err) < 0 ? 0 : unix_ms;
}

static bool is_status(const json_t *condition, const char *status)
{
    return strcmp(doc_text_or(condition, "status", ""), status) == 0;
}

static void read_conditions(struct late_item *late, const struct item *item)
{
    static const char *const types[] = {CONDITION_EXPORTS_UP_TO_DATE, CONDITION_STILL_READY};

    late->was_ready =
        late->was_ready || is_status(status_condition(item->status, CONDITION_STILL_READY), "True");
    late->changed_unix_ms = 0;
    for (size_t i = 0; i < array_length(types); i++) {
        const json_t *condition = status_condition(item->status, types[i]);
        int64_t unix_ms =
            is_status(condition, "False") ? time_at(condition, "lastTransitionTime") : 0;

        if (unix_ms > 0 && (!late->changed_unix_ms || unix_ms < late->changed_unix_ms))
            late->changed_unix_ms = unix_ms;
    }
}

static void set_schedule(struct late_item *late, const struct item *item)
{
    const json_t *continuous = doc_member(item->config, "continuousReconcile");
    int64_t ns = 0;
    struct error err = {0};

    free(late->cron);
    late->cron = xstrdup_or_null(doc_text(continuous, "cron"));
    late->every_ms = 0;
    if (duration_parse(doc_text_or(continuous, "every", ""), &ns, &err) == 0 && ns > 0)
        late->every_ms = ns / 1000000 > 0 ? ns / 1000000 : 1;
}

/* Another job: everything is observed anew. */
static void begin(struct late_item *late, const struct item *item)
{
    int64_t now = controller_now_unix_ms(late->engine->base.controller);

    disconnect(late);
    free(late->job);
    late->job = xstrdup(item->job);
    free(late->shown);
    late->shown = NULL;
    late->was_ready = false;
    late->view = (struct late_view){
        .last_unix_ms = now,
        .finished_unix_ms = time_at(item->status, "transitionTimes.finishedTime"),
        .due_unix_ms = -1,
    };
    retry_init(&late->retry, LATE_RETRY_FIRST_MS, LATE_RETRY_MAX_MS);
    late->retry_unix_ms = 0;
    retry_init(&late->reconnect, LATE_RECONNECT_MS, LATE_RETRY_MAX_MS);
    late->reconnect_unix_ms = now + LATE_RECONNECT_MS;
    set_schedule(late, item);
}

bool late_item_seen(struct engine *base, struct record *record, const struct item *item)
{
    struct manifest_engine *engine = (struct manifest_engine *)base;
    struct late_rules rules = rules_of(base, item);
    struct late_item *late = record->tracked;

    if (!is_watched(item, &rules)) {
        late_untrack(record);
        return false;
    }
    if (!late && engine->late_count >= LATE_ITEMS_MAX) {
        log_error(
            "too many items are watched for late changes", log_text("deployItem", record->name),
            log_text("namespace", record->namespace_name), log_number("limit", LATE_ITEMS_MAX));
        return false;
    }
    if (!late)
        late = late_new(engine, record);
    if (!late->job || strcmp(late->job, item->job) != 0)
        begin(late, item);
    late->rules = rules;
    late->memory = manifest_status_late(doc_member(item->status, "providerStatus"), item->job);
    read_conditions(late, item);
    loop_timer_start(&late->timer, 0);
    return false;
}

/* ---- Deciding ---- */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void plan_reconnect(struct late_item *late, int64_t now)
{
    const struct error none = {0};

    late->reconnect_unix_ms = now + retry_next_ms(&late->reconnect, &none);
}

static void update_view(struct late_item *late, int64_t now)
{
    struct late_view *view = &late->view;
    char change[LATE_CHANGE_SIZE] = "";
    bool is_known = late->watch && late_watch_view(late->watch, late->was_ready, change);
    int64_t from = later_of(view->finished_unix_ms, late->memory.triggered_unix_ms);

    view->due_unix_ms = -1;
    if (late->cron && *late->cron)
        view->due_unix_ms = cron_next(late->cron, from);
    else if (late->every_ms)
        view->due_unix_ms = from + late->every_ms;
    if (is_known == view->is_known && (!is_known || strcmp(change, view->change) == 0))
        return;
    view->last_unix_ms = now;
    view->is_known = is_known;
    if (!is_known) {
        plan_reconnect(late, now);
        return;
    }
    retry_reset(&late->reconnect);
    /* A change that was reported before a restart is as old as the report. */
    if (*change && !*view->change)
        view->since_unix_ms = late->changed_unix_ms ? late->changed_unix_ms : now;
    memcpy(view->change, change, sizeof(change));
}

struct late_decision late_decision_of(struct late_item *late)
{
    int64_t now = controller_now_unix_ms(late->engine->base.controller);

    update_view(late, now);
    return late_decide(&late->rules, &late->view, &late->memory, now);
}

char *late_key(const struct late_item *late, enum late_verdict verdict)
{
    return xasprintf("%d %s %d", verdict, late_verdict_is_change(verdict) ? late->view.change : "",
                     late->watch && late_watch_is_ready(late->watch));
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Credentials may have expired, or the Target may name another server. */
static bool is_reconnect_due(const struct late_item *late, int64_t now)
{
    return late->watch && !late->view.is_known && now >= late->reconnect_unix_ms;
}

void late_look(struct late_item *late)
{
    struct controller *controller = late->engine->base.controller;
    struct late_decision decision = late_decision_of(late);
    cleanup_free char *key = late_key(late, decision.verdict);
    int64_t now = controller_now_unix_ms(controller), wake = decision.wake_unix_ms;
    bool is_said = decision.verdict == LATE_WATCHING || (late->shown && !strcmp(late->shown, key));

    /* late_look_all() is called when this process leads. The lease may also be too old for a
     * moment only. */
    if (!controller_may_write(controller)) {
        if (late->watch)
            loop_timer_start(&late->timer, LATE_RETRY_FIRST_MS);
        return;
    }
    if (is_reconnect_due(late, now)) {
        disconnect(late);
        plan_reconnect(late, now);
    }
    late->is_due = !late->watch || decision.is_trigger || !is_said;
    if (!late->is_due && !late->view.is_known)
        wake = earliest(wake, late->reconnect_unix_ms);
    if (late->is_due && now < late->retry_unix_ms) {
        late->is_due = false;
        wake = earliest(wake, late->retry_unix_ms);
    }
    if (late->is_due)
        task_wake_record(controller, late->record);
    if (wake >= 0)
        loop_timer_start(&late->timer, wake > now ? (uint64_t)(wake - now) : 1);
    else
        loop_timer_stop(&late->timer);
}

bool late_is_due(const struct record *record)
{
    const struct late_item *late = record->tracked;

    return late && late->is_due;
}
