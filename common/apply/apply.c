/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/apply.h"

#include <string.h>

#include "common/apply/apply_internal.h"
#include "common/apply/summary.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

/* ---- Results ---- */

const char *apply_outcome_name(enum apply_outcome outcome)
{
    static const char *const names[] = {
        [APPLY_CREATED] = "created",     [APPLY_CHANGED] = "changed",
        [APPLY_UNCHANGED] = "unchanged", [APPLY_LEFT_ALONE] = "leftAlone",
        [APPLY_FAILED] = "failed",
    };

    return names[outcome];
}

void apply_result_free(struct apply_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->count; i++) {
        json_decref(result->objects[i].object);
        json_decref(result->objects[i].before);
    }
    free(result->objects);
    inventory_done(&result->inventory);
    free(result);
}

static enum error_kind common_kind(const struct apply_result *result)
{
    bool is_denied = true;

    for (size_t i = 0; i < result->count; i++) {
        const struct apply_object_result *object = &result->objects[i];

        if (object->outcome != APPLY_FAILED)
            continue;
        if (object->error.kind == ERROR_TEMPORARY || object->error.kind == ERROR_CANCELLED)
            return ERROR_TEMPORARY;
        is_denied = is_denied && object->error.kind == ERROR_DENIED;
    }
    return is_denied ? ERROR_DENIED : ERROR_INVALID;
}

void apply_result_error(const struct apply_result *result, struct error *ret_error)
{
    struct summary problems = {0};
    int status = -1;
    uint32_t retry_after_ms = 0;

    for (size_t i = 0; i < result->count; i++) {
        const struct error *err = &result->objects[i].error;

        if (result->objects[i].outcome != APPLY_FAILED)
            continue;
        summary_add(&problems, "%s", err->text);
        status = status == -1 || status == err->http_status ? err->http_status : 0;
        retry_after_ms =
            err->retry_after_ms > retry_after_ms ? err->retry_after_ms : retry_after_ms;
    }
    summary_error(&problems, common_kind(result), ret_error);
    if (problems.count > 0) {
        ret_error->http_status = status;
        ret_error->retry_after_ms = retry_after_ms;
    }
    summary_done(&problems);
}

/* ---- Jobs ---- */

static void job_clear(struct apply_job *job)
{
    kube_cancel(job->call);
    cluster_unwatch(job->interest);
    loop_timer_stop(&job->timer);
    json_decref(job->manifest);
    json_decref(job->live);
    json_decref(job->written);
    *job = (struct apply_job){0};
}

static void end_job(struct apply_job *job)
{
    struct apply *apply = job->apply;

    job_clear(job);
    apply->running--;
    loop_timer_start(&apply->timer, 0);
}

void apply_job_done(struct apply_job *job, enum apply_outcome outcome, const json_t *object)
{
    json_t *copy = json_copy(doc_writable(object));
    json_t *metadata = json_copy(json_object_get(copy, "metadata"));

    /* Nobody needs it, and it is often larger than the rest. */
    (void)json_object_del(metadata, "managedFields");
    (void)json_object_set_new(copy, "metadata", metadata);
    /* The API server leaves them out of the objects of a list, and so of a CRD that was listed. */
    doc_set_text(copy, "apiVersion", job->object->ref.api_version);
    doc_set_text(copy, "kind", job->object->ref.kind);
    job->result->outcome = outcome;
    job->result->object = copy;
    end_job(job);
}

void apply_job_failed(struct apply_job *job, const struct error *err)
{
    job->result->outcome = APPLY_FAILED;
    apply_message(job->object, job->doing, err, &job->result->error);
    job->apply->result->failed++;
    end_job(job);
}

struct inventory_entry *apply_job_entry(const struct apply_job *job)
{
    return inventory_find(&job->apply->result->inventory, &job->object->ref);
}

bool apply_has_crd_of(const struct apply *apply, const struct plan_object *object)
{
    const struct plan *plan = apply->options.plan;

    for (size_t i = 0; i < plan->count && plan->objects[i].group == PLAN_CRDS; i++) {
        const json_t *crd = plan->objects[i].manifest;

        if (apply->result->objects[i].outcome != APPLY_FAILED &&
            strcmp(doc_text_or(crd, "spec.group", ""), object->kind.group) == 0 &&
            strcmp(doc_text_or(crd, "spec.names.kind", ""), object->ref.kind) == 0)
            return true;
    }
    return false;
}

bool apply_has_namespace_of(const struct apply *apply, const struct plan_object *object)
{
    const struct plan *plan = apply->options.plan;
    const char *name = object->ref.namespace_name;

    for (size_t i = 0; name && i < plan->count; i++) {
        const struct object_ref *ref = &plan->objects[i].ref;

        if (strcmp(ref->api_version, "v1") == 0 && strcmp(ref->kind, "Namespace") == 0 &&
            strcmp(ref->name, name) == 0)
            return true;
    }
    return false;
}

/* ---- Groups ---- */

static void apply_free(struct apply *apply)
{
    for (size_t i = 0; i < APPLY_PARALLEL_MAX; i++) {
        if (apply->jobs[i].apply)
            job_clear(&apply->jobs[i]);
    }
    loop_timer_stop(&apply->timer);
    apply_places_free(apply);
    apply_result_free(apply->result);
    cluster_put(apply->cluster);
    free(apply);
}

static struct apply_job *free_job(struct apply *apply)
{
    struct apply_job *job = apply->jobs;

    while (job->apply)
        job++;
    return job;
}

static void begin_next(struct apply *apply)
{
    struct apply_job *job = free_job(apply);

    job->apply = apply;
    job->object = &apply->options.plan->objects[apply->next];
    job->result = &apply->result->objects[apply->next];
    apply->next++;
    apply->running++;
    apply_job_begin(job);
}

static void on_pump(void *data)
{
    struct apply *apply = data;
    const struct plan *plan = apply->options.plan;

    while (apply->next < plan->count && apply->running < APPLY_PARALLEL_MAX) {
        /* A group begins when all objects of the one before are done. */
        if (plan->objects[apply->next].group != apply->group && apply->running > 0)
            return;
        apply->group = plan->objects[apply->next].group;
        begin_next(apply);
    }
    if (apply->next == plan->count && apply->running == 0) {
        void (*on_done)(void *data, struct apply_result *result) = apply->options.on_done;
        void *owner = apply->options.data;
        struct apply_result *result = steal(&apply->result);

        apply_free(apply);
        on_done(owner, result);
    }
}

int apply_start(const struct apply_options *options, struct apply **ret_apply, struct error *err)
{
    struct apply *apply = NULL;

    if (!options->field_manager || !options->field_manager[0])
        return error_set(err, ERROR_INTERNAL, "apply: field manager is missing");
    apply = xcalloc(1, sizeof(*apply));
    apply->options = *options;
    apply->cluster = cluster_ref(options->cluster);
    apply->result = xcalloc(1, sizeof(*apply->result));
    apply->result->count = options->plan->count;
    apply->result->objects = xcalloc(options->plan->count + 1, sizeof(*apply->result->objects));
    apply->result->inventory = inventory_copy(options->recorded);
    apply_places_init(apply);
    loop_timer_init(&apply->timer, kube_loop(cluster_kube(apply->cluster)), on_pump, apply);
    loop_timer_start(&apply->timer, 0);
    *ret_apply = apply;
    return 0;
}

void apply_cancel(struct apply *apply)
{
    if (apply)
        apply_free(apply);
}

/* ---- What it waits for ---- */

static void describe_job(const struct apply_job *job, struct summary *summary)
{
    cleanup_free char *name = object_ref_text(&job->object->ref);
    const char *server = cluster_server(job->apply->cluster);
    bool has_reason = job->waiting_err.kind != ERROR_NONE;
    cleanup_free char *state = NULL;

    if (job->interest)
        state = xstrdup("is not established yet");
    else if (job->call || job->place)
        state = xasprintf("waits for a response of server \"%s\"", server);
    else
        state = xasprintf("waits until its kind is known to server \"%s\"", server);
    summary_add(summary, "%s %s%s%s%s", name, state, has_reason ? " (" : "",
                has_reason ? job->waiting_err.text : "", has_reason ? ")" : "");
}

char *apply_describe(const struct apply *apply)
{
    struct summary summary = {0};

    for (size_t i = 0; i < APPLY_PARALLEL_MAX; i++) {
        if (apply->jobs[i].apply)
            describe_job(&apply->jobs[i], &summary);
    }
    return summary_take(&summary);
}
