/* SPDX-License-Identifier: Apache-2.0 */
/* A managed cluster: what is known becomes documents, decisions, requests, and a status. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "deployer/lifecycle/kyma_status.h"
#include "deployer/lifecycle/list.h"
#include "deployer/lifecycle/manager.h"
#include "deployer/lifecycle/names.h"
#include "deployer/lifecycle/state_event.h"

/* ---- Problems ---- */

void kyma_on_timer(void *data)
{
    kyma_touch(data);
}

void kyma_fail(struct kyma *kyma, const struct error *err)
{
    enum failure_class class = failure_classify(err);
    uint32_t first_ms = 0, max_ms = 0;

    if (err->kind == ERROR_CANCELLED)
        return;
    if (class == FAILURE_CONTENT)
        class = FAILURE_OBJECT;
    failure_delays(class, &first_ms, &max_ms);
    if (kyma->failure != class)
        retry_init(&kyma->retry, first_ms, max_ms);
    if (!kyma->problem || strcmp(kyma->problem, err->text) != 0) {
        kyma->lifecycle->failures[class]++;
        log_error("cluster cannot be managed", log_text("kyma", kyma->name),
                  log_text("class", failure_name(class)), log_text("error", err->text));
        free(kyma->problem);
        kyma->problem = xstrdup(err->text);
        kyma_touch(kyma); /* to report it */
    }
    kyma->failure = class;
    /* It backs off; meanwhile others may connect. */
    kymas_give_connect_slot(kyma);
    /* Without an access only another Secret helps. */
    if (kyma->cluster)
        loop_timer_start(&kyma->timer, retry_next_ms(&kyma->retry, err));
}

void kyma_on_away(void *data)
{
    struct kyma *kyma = data;
    struct error err = {.kind = ERROR_TEMPORARY};

    if (!kyma->silence)
        return;
    (void)error_set(&err, ERROR_TEMPORARY, "%s", kyma->silence);
    if (kyma->failure == FAILURE_UNAUTHORIZED)
        err.http_status = 401;
    kyma_fail(kyma, &err);
}

/* When many clusters become silent together, for example because a network is down, their reports
 * are spread, 1 ms for each cluster that is managed: all at once they would delay what healthy
 * clusters have to report. */
static uint64_t away_ms(const struct kyma *kyma)
{
    uint32_t hash = hash_bytes(HASH_FIRST, kyma->name, strlen(kyma->name));

    return LIFECYCLE_AWAY_MS + hash % (kyma->lifecycle->kyma_count + 1);
}

void kyma_unheard(struct kyma *kyma, const struct error *err)
{
    if (err->kind == ERROR_CANCELLED || kyma->problem)
        return;
    if (!kyma->silence)
        loop_timer_start(&kyma->away_timer, away_ms(kyma));
    free(kyma->silence);
    kyma->silence = xstrdup(err->text);
}

void kyma_recover(struct kyma *kyma)
{
    if (!kyma->problem)
        return;
    log_info("cluster can be managed again", log_text("kyma", kyma->name));
    free(kyma->problem);
    kyma->problem = NULL;
    kyma->failure = FAILURE_NONE;
    retry_reset(&kyma->retry);
    kyma_touch(kyma);
}

void kyma_heard(struct kyma *kyma)
{
    loop_timer_stop(&kyma->away_timer);
    free(kyma->silence);
    kyma->silence = NULL;
    if (kyma->failure != FAILURE_OBJECT)
        kyma_recover(kyma);
}

bool kyma_may_write(const struct kyma *kyma)
{
    return !kyma->cluster_call && !(kyma->problem && loop_timer_is_running(&kyma->timer));
}

/* ---- Another replica's clusters ---- */

bool kyma_is_busy(const struct kyma *kyma)
{
    if (kyma->call || kyma->cluster_call || catalog_is_busy(kyma))
        return true;
    for (const struct module *module = kyma->modules; module; module = module->next) {
        if (module->call || module->apply || module->removal)
            return true;
    }
    return false;
}

void kyma_leave(struct kyma *kyma)
{
    struct module *next = NULL;

    kube_cancel(kyma->call);
    kyma->call = NULL;
    kymas_give_report_slot(kyma);
    kyma_disconnect(kyma);
    for (struct module *module = kyma->modules; module; module = next) {
        next = module->next;
        module->is_awaited = module->is_deletion_seen = module->is_resource_made = false;
        module->is_partial = false;
        if (!kept_is_there(&module->manifest))
            module_free(module);
    }
    kept_set(&kyma->remote, NULL);
    free(kyma->problem);
    kyma->problem = NULL;
    kyma->failure = FAILURE_NONE;
    kyma->is_access_wrong = kyma->is_foreign = kyma->is_report_due = false;
    kyma->prepared = 0;
    kyma->reported_state = -1;
    kyma->unready_since_ms = 0;
    loop_timer_stop(&kyma->report_timer);
    if (!kept_is_there(&kyma->object) && !kyma->modules && !kyma->accesses)
        kyma_free(kyma);
}

/* ---- Writes to the control plane ---- */

static void on_written(void *data, json_t *object, const struct error *err)
{
    struct kyma *kyma = data;
    cleanup_json json_t *event = steal(&kyma->event);

    kyma->call = NULL;
    kymas_give_report_slot(kyma);
    if (err->kind == ERROR_NONE) {
        if (event)
            lifecycle_send_event(kyma, KIND_KYMA, object, event);
        kept_take_answer(&kyma->object, object);
    } else if (err->kind != ERROR_CONFLICT && err->kind != ERROR_NOT_FOUND &&
               err->kind != ERROR_CANCELLED) {
        log_error("writing the Kyma failed, retrying", log_text("kyma", kyma->name),
                  log_text("error", err->text));
        if (!loop_timer_is_running(&kyma->timer))
            loop_timer_start(&kyma->timer, LIFECYCLE_RETRY_MS);
        return;
    }
    if (err->kind == ERROR_NONE)
        kyma_touch(kyma);
    else
        kyma_touch_later(kyma);
}

static void patch(struct kyma *kyma, const json_t *object, const char *subresource, json_t *body)
{
    doc_set_text(body, "metadata.resourceVersion",
                 doc_text_or(object, "metadata.resourceVersion", ""));
    kyma->call =
        control_plane_write(sender_for_kyma(kyma), KUBE_PATCH_MERGE, RESOURCE_KYMAS, kyma->name,
                            subresource, body, KYMA_FIELD_MANAGER, on_written, kyma);
}

static json_t *finalizers_with(const json_t *object, const char *finalizer, bool is_wanted)
{
    json_t *list = json_array();
    size_t i;
    json_t *one;
    bool has = false;

    json_array_foreach(doc_writable(doc_get(object, "metadata.finalizers")), i, one)
    {
        bool is_ours = json_is_string(one) && strcmp(json_string_value(one), finalizer) == 0;

        has |= is_ours;
        if (!is_ours || is_wanted)
            json_array_append(list, one);
    }
    if (is_wanted && !has)
        json_array_append_new(list, json_string(finalizer));
    if (has == is_wanted) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Whether the finalizer and the label are there, or a write was started. */
static bool has_marks(struct kyma *kyma, const json_t *object)
{
    const char *label =
        json_string_value(doc_member(doc_get(object, "metadata.labels"), KYMA_LABEL_MANAGED_BY));
    json_t *finalizers = finalizers_with(object, KYMA_FINALIZER, true);
    cleanup_json json_t *body = json_object();

    if (!finalizers && label && strcmp(label, KYMA_MANAGED_BY_CONTROL_PLANE) == 0)
        return true;
    if (finalizers)
        doc_set_new(body, "metadata.finalizers", finalizers);
    doc_set_new(body, "metadata.labels",
                json_pack("{s:s}", KYMA_LABEL_MANAGED_BY, KYMA_MANAGED_BY_CONTROL_PLANE));
    if (!kyma->call)
        patch(kyma, object, NULL, body);
    return false;
}

static void drop_finalizer(struct kyma *kyma, const json_t *object)
{
    json_t *finalizers = finalizers_with(object, KYMA_FINALIZER, false);
    cleanup_json json_t *body = json_object();

    if (!finalizers)
        return;
    doc_set_new(body, "metadata.finalizers", finalizers);
    if (!kyma->call)
        patch(kyma, object, NULL, body);
}

bool kyma_is_write_due(struct kyma *kyma, const json_t *old, const json_t *new)
{
    const char *before = doc_text_or(old, "state", "");
    const char *now = doc_text_or(new, "state", "");
    bool is_first = !*before && strcmp(now, "Processing") == 0;

    if ((strcmp(before, now) != 0 && !is_first) || kyma->is_report_due)
        return true;
    kyma_touch_later(kyma);
    return false;
}

/* After a conflict the watch brings the new version, or has brought it while the request was under
 * way. */
void kyma_touch_later(struct kyma *kyma)
{
    if (!loop_timer_is_running(&kyma->report_timer))
        loop_timer_start(&kyma->report_timer, LIFECYCLE_REPORT_MS);
}

void kyma_on_report(void *data)
{
    struct kyma *kyma = data;

    kyma->is_report_due = true;
    kyma_touch(kyma);
}

/* Whether the control plane has the status already. */
static bool write_status(struct kyma *kyma, const json_t *object, const json_t *status)
{
    cleanup_json json_t *old =
        json_pack("{s:O*}", "status", doc_writable(doc_get(object, "status")));
    cleanup_json json_t *new = json_pack("{s:O}", "status", doc_writable(status));
    cleanup_json json_t *body = merge_patch_between(old, new);

    if (body && !kyma->call && kyma_is_write_due(kyma, doc_get(object, "status"), status) &&
        kymas_take_report_slot(kyma)) {
        json_decref(kyma->event);
        kyma->event = state_event(KIND_KYMA, doc_get(object, "status"), status);
        patch(kyma, object, "status", body);
        if (!kyma->call)
            kymas_give_report_slot(kyma);
    }
    return !body;
}

/* ---- The pass ---- */

struct pass {
    json_t *object, *remote;
    bool is_deleting, is_connected;
    enum step_state crds, catalog;
};

static void report(struct kyma *kyma, const struct pass *pass, const struct choices *choices)
{
    cleanup_json json_t *manifests = json_object();
    cleanup_json json_t *status = NULL;
    enum module_state state = MODULE_PROCESSING;

    for (struct module *module = kyma->modules; module; module = module->next) {
        json_t *manifest = kept_get(&module->manifest);
        const json_t *labels = doc_get(manifest, "metadata.labels");
        const char *name = json_string_value(doc_member(labels, KYMA_LABEL_MODULE_NAME));

        if (name && !doc_member(labels, KYMA_LABEL_MANDATORY))
            json_object_set(manifests, name, manifest);
        json_decref(manifest);
    }
    status = kyma_status(&(struct kyma_observation){
        .kyma = pass->object,
        .choices = choices,
        .manifests = manifests,
        .crds = pass->crds,
        .catalog = pass->catalog,
        .is_deleting = pass->is_deleting,
        .error = kyma->problem,
        .now_unix_ms = clock_unix_ms(loop_clock(kyma->lifecycle->loop)),
    });
    (void)module_state_parse(doc_text(status, "state"), &state);
    if (state == MODULE_READY)
        kyma->unready_since_ms = 0;
    else if (!kyma->unready_since_ms)
        kyma->unready_since_ms = (int64_t)loop_now_ms(kyma->lifecycle->loop);
    kyma->reported_state = state;
    /* The copy in the cluster follows, so that it is not written more often. */
    if (write_status(kyma, pass->object, status) && pass->is_connected && pass->remote)
        kyma_write_remote_status(kyma, pass->remote, status);
    kyma->is_report_due = kyma->report_waiter.link != NULL;
}

static struct choices resolve(const struct kyma *kyma, const struct pass *pass)
{
    const struct lifecycle *lifecycle = kyma->lifecycle;
    const json_t *spec = doc_get(pass->remote ? pass->remote : pass->object, "spec");

    return resolve_modules(&(struct resolve_input){
        .kyma = pass->object,
        .spec = spec,
        .catalog = {.releases = lifecycle->releases,
                    .templates = lifecycle->templates,
                    .namespace_name = lifecycle->options.namespace_name},
        .policy = lifecycle->policy,
        .now_unix_ms = clock_unix_ms(loop_clock(lifecycle->loop)),
        .window_least_ms = lifecycle->options.window_least_ms,
    });
}

/* Nothing but the clock tells that a window begins. It may be set, so it is looked at now and then.
 */
static void await_window(struct kyma *kyma, const struct choices *choices)
{
    int64_t next = choices_next_window(choices);
    int64_t now = clock_unix_ms(loop_clock(kyma->lifecycle->loop));
    int64_t delay_ms = next > now ? next - now : 0;

    if (!next)
        loop_timer_stop(&kyma->window_timer);
    else
        loop_timer_start(&kyma->window_timer,
                         delay_ms < LIFECYCLE_WINDOW_MS ? (uint64_t)delay_ms : LIFECYCLE_WINDOW_MS);
}

static void step_modules(struct kyma *kyma, const json_t *object)
{
    struct module *next = NULL;

    for (struct module *module = kyma->modules; module; module = next) {
        next = module->next;
        module_step(module, object);
    }
}

/* What belongs to another Kyma is left alone: then there is nothing to remove but the finalizer.
 * Manifests nevertheless stay, since their objects are in the cluster to which the Secret led
 * before. */
static void pass_deletion(struct kyma *kyma, struct pass *pass)
{
    cleanup_choices struct choices choices = resolve(kyma, pass);
    bool is_forsaken = kyma_has_no_access(kyma);
    bool is_foreign = kyma_connect_to_leave(kyma, &pass->is_connected);

    if (is_forsaken) {
        free(kyma->problem);
        kyma->problem = NULL;
    }
    report(kyma, pass, &choices);
    kyma_delete_manifests(kyma);
    if (!is_foreign)
        step_modules(kyma, pass->object);
    if (!kyma->modules &&
        (is_forsaken || is_foreign || (pass->is_connected && kyma_delete_step(kyma, pass->object))))
        drop_finalizer(kyma, pass->object);
}

/* Until the catalog of the cluster has been read, what was reported of it stays: a restart must not
 * make clusters look as if something was wrong with them. */
static bool sync_catalog(struct kyma *kyma, const json_t *object)
{
    const json_t *reported =
        list_find(doc_get(object, "status.conditions"), "type", KYMA_CONDITION_CATALOG);

    if (!catalog_is_known(kyma))
        return strcmp(doc_text_or(reported, "status", ""), "True") == 0;
    return catalog_sync(kyma, object);
}

static void pass_life(struct kyma *kyma, struct pass *pass)
{
    bool is_remote = kyma_is_remote(kyma);
    cleanup_choices struct choices choices = {0};

    if (!has_marks(kyma, pass->object))
        return;
    pass->is_connected = kyma_connect(kyma, false);
    pass->crds = !is_remote ? STEP_ABSENT : kyma->prepared ? STEP_DONE : STEP_UNKNOWN;
    pass->catalog = is_remote ? STEP_UNKNOWN : STEP_ABSENT;
    if (pass->is_connected && is_remote) {
        pass->remote = kept_get(&kyma->remote);
        /* Nothing is done in a cluster whose Kyma is not there, or is another one's. */
        pass->is_connected = kyma_keep_remote(kyma, pass->object, pass->remote);
        if (pass->is_connected)
            pass->catalog = sync_catalog(kyma, pass->object) ? STEP_DONE : STEP_FAILED;
    }
    if (!pass->is_connected && !kyma->problem)
        return;
    choices = resolve(kyma, pass);
    await_window(kyma, &choices);
    if (pass->is_connected)
        kyma_sync_manifests(kyma, pass->object, &choices);
    if (pass->is_connected)
        step_modules(kyma, pass->object);
    report(kyma, pass, &choices);
}

/* The Kyma is gone, perhaps by force. Its Manifests follow; nothing is left to report. */
static void pass_orphan(struct kyma *kyma)
{
    if (kyma->modules) {
        bool is_connected = false;

        if (!kyma_connect_to_leave(kyma, &is_connected))
            step_modules(kyma, NULL);
        return;
    }
    kyma_disconnect(kyma);
    kyma->prepared = 0;
    kyma->reported_state = -1;
    if (!kyma->accesses && !kyma->call)
        kyma_free(kyma);
}

static bool is_skipped(const json_t *object)
{
    const char *value =
        json_string_value(doc_member(doc_get(object, "metadata.labels"), KYMA_LABEL_SKIP));

    return value && strcmp(value, "true") == 0;
}

void kyma_pass(struct kyma *kyma)
{
    cleanup_json json_t *object = NULL;
    struct pass pass = {0};

    if (!sharing_has(kyma)) {
        if (!kyma_is_busy(kyma))
            kyma_leave(kyma);
        return;
    }
    if (!kept_is_there(&kyma->object)) {
        pass_orphan(kyma);
        return;
    }
    documents_hold(&kyma->lifecycle->documents, kyma);
    pass.object = object = kept_get(&kyma->object);
    pass.is_deleting = doc_text(object, "metadata.deletionTimestamp") != NULL;
    if (pass.is_deleting)
        pass_deletion(kyma, &pass);
    else if (!is_skipped(object))
        pass_life(kyma, &pass);
    json_decref(pass.remote);
}
