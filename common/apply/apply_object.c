/* SPDX-License-Identifier: Apache-2.0 */
/* The requests for one object. Each answer leads to the next request or to the end of the job. */
#include <string.h>

#include "common/apply/apply_internal.h"
#include "common/apply/managers.h"
#include "common/apply/merge_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

static void send_create(struct apply_job *job);
static void send_read(struct apply_job *job);
static void send_apply(struct apply_job *job, const json_t *body);

static const struct apply_options *options_of(const struct apply_job *job)
{
    return &job->apply->options;
}

static void send_request(struct apply_job *job, enum kube_verb verb, const json_t *body,
                         kube_done_fn *on_done, const char *doing)
{
    const struct apply_options *options = options_of(job);
    const struct object_ref *ref = &job->object->ref;
    const struct kube_request request = {
        .verb = verb,
        .resource = kind_resource(&job->object->kind),
        .namespace_name = ref->namespace_name,
        .name = verb == KUBE_CREATE ? NULL : ref->name,
        .body = body,
        .field_manager = verb == KUBE_GET ? NULL : options->field_manager,
        .query = options->is_dry_run && verb != KUBE_GET ? "dryRun=All" : NULL,
        .may_send = options->may_send,
        .may_send_data = options->may_send_data,
        .on_done = on_done,
        .data = job,
    };
    struct error err = {0};

    job->doing = doing;
    if (kube_start(cluster_kube(job->apply->cluster), &request, &job->call, &err) < 0)
        apply_job_failed(job, &err);
}

/* ---- Ends ---- */

static bool is_being_deleted(struct apply_job *job, const json_t *object)
{
    struct error err = {0};

    if (!doc_text(object, "metadata.deletionTimestamp"))
        return false;
    job->doing = "changed";
    (void)error_set(&err, ERROR_CONFLICT,
                    "it is being deleted, and can be created when it is gone");
    if (json_array_size(doc_get(object, "metadata.finalizers")) > 0) {
        cleanup_free char *finalizers = doc_dump(doc_get(object, "metadata.finalizers"));

        (void)error_set(&err, ERROR_CONFLICT,
                        "it is being deleted, and can be created when it is gone; it waits for its "
                        "finalizers %s",
                        finalizers);
    }
    apply_job_failed(job, &err);
    return true;
}

static void note_uid(const struct apply_job *job, struct inventory_entry *entry,
                     const json_t *object)
{
    const char *uid = doc_text(object, "metadata.uid");

    if (uid && (!entry->ref.uid || strcmp(uid, entry->ref.uid) != 0))
        inventory_set_uid(&job->apply->result->inventory, entry, uid);
}

static void finish(struct apply_job *job, enum apply_outcome outcome, const json_t *object)
{
    const struct apply_options *options = options_of(job);
    struct inventory_entry *entry = apply_job_entry(job);

    if (entry) {
        note_uid(job, entry, object);
        merge_note_applied(entry, job->manifest, options->strategy, &options->owner,
                           job->annotations, object);
    }
    if (job->object->group != PLAN_CRDS || options->is_dry_run) {
        apply_job_done(job, outcome, object);
        return;
    }
    job->outcome = outcome;
    job->written = json_incref(doc_writable(object));
    apply_job_wait_established(job);
}

/* Whether another attempt may be made after the object changed, appeared or disappeared. Otherwise
 * the job has failed. */
static bool may_try_again(struct apply_job *job, const struct error *err)
{
    if (++job->tries < APPLY_TRIES_MAX)
        return true;
    apply_job_failed(job, err);
    return false;
}

/* ---- The kind or the namespace is not there ---- */

static void on_served_timer(void *data)
{
    struct apply_job *job = data;

    job->tries = 0;
    apply_job_begin(job);
}

/* A dry run creates neither the namespace nor the CRD that an object needs. */
static bool is_created_by_plan(const struct apply_job *job)
{
    return options_of(job)->is_dry_run && (apply_has_crd_of(job->apply, job->object) ||
                                           apply_has_namespace_of(job->apply, job->object));
}

static void take_missing_place(struct apply_job *job, const json_t *body, const struct error *err)
{
    bool is_builtin = kind_builtin(job->object->ref.api_version, job->object->ref.kind) != NULL;
    bool is_kind_missing = !is_builtin && !strstr(err->text, "namespaces \"");

    if (is_created_by_plan(job)) {
        job->result->is_unchecked = true;
        apply_job_done(job, APPLY_CREATED, body);
        return;
    }
    if (is_kind_missing && apply_has_crd_of(job->apply, job->object) &&
        ++job->served_tries < APPLY_SERVED_TRIES_MAX) {
        job->waiting_err = *err;
        loop_timer_start(&job->timer, APPLY_SERVED_RETRY_MS);
        return;
    }
    if (is_kind_missing)
        cluster_forget_kinds(job->apply->cluster, job->object->ref.api_version);
    apply_job_failed(job, err);
}

/* ---- Creating ---- */

/* Whether the answer shows that no object was created: an earlier attempt whose answer was lost may
 * have created it, and may be why the last one exceeds a quota. */
static bool is_refusal(const struct apply_job *job, const struct error *err)
{
    return (err->http_status == 400 || err->http_status == 401 || err->http_status == 403 ||
            err->http_status == 422) &&
           !kube_is_repeated(job->call);
}

/* The answer to a request that creates the object if it does not exist. */
static void end_creation(struct apply_job *job, const struct error *err)
{
    struct inventory_entry *entry = apply_job_entry(job);

    if (entry && !is_refusal(job, err))
        entry->is_new = false;
    job->call = NULL;
}

static void on_created(void *data, json_t *object, const struct error *err)
{
    struct apply_job *job = data;

    end_creation(job, err);
    if (err->kind == ERROR_NONE) {
        finish(job, APPLY_CREATED, object);
    } else if (err->kind == ERROR_EXISTS) {
        if (may_try_again(job, err))
            send_read(job);
    } else if (err->kind == ERROR_CONFLICT) { /* of a quota, for example */
        if (may_try_again(job, err))
            send_create(job);
    } else if (err->kind == ERROR_NOT_FOUND) {
        cleanup_json json_t *body =
            merge_for_create(job->manifest, job->annotations, &options_of(job)->owner);

        take_missing_place(job, body, err);
    } else {
        apply_job_failed(job, err);
    }
}

static void send_create(struct apply_job *job)
{
    cleanup_json json_t *body = NULL;

    job->annotations = job->object->annotate_before_create;
    body = merge_for_create(job->manifest, job->annotations, &options_of(job)->owner);
    /* An object that is never changed again needs no record of who applied which fields. */
    if (options_of(job)->strategy == STRATEGY_APPLY && job->object->policy != POLICY_IMMUTABLE)
        send_apply(job, body);
    else
        send_request(job, KUBE_CREATE, body, on_created, "created");
}

/* The recorded object is gone. If the process ended right after creating another one, its uid would
 * not be the recorded one, and the object would look like somebody else's: first the entry has to
 * be recorded without the uid. */
static void create_again(struct apply_job *job)
{
    struct inventory_entry *entry = apply_job_entry(job);
    struct error err = {0};

    if (!entry || !entry->ref.uid || options_of(job)->is_dry_run) {
        send_create(job);
        return;
    }
    inventory_set_uid(&job->apply->result->inventory, entry, NULL);
    entry->is_new = true;
    job->apply->result->is_record_needed = true;
    job->doing = "created";
    (void)error_set(&err, ERROR_TEMPORARY,
                    "it is gone, and is created again when the list of objects is stored");
    apply_job_failed(job, &err);
}

/* ---- Changing ---- */

/* A write that changes nothing keeps the version, and so does every dry run. */
static bool is_same(const struct apply_job *job, const json_t *object)
{
    cleanup_json json_t *before = NULL;
    cleanup_json json_t *after = NULL;

    if (!job->live || job->has_taken_over ||
        strcmp(doc_text_or(job->live, "metadata.resourceVersion", ""),
               doc_text_or(object, "metadata.resourceVersion", "")) != 0)
        return false;
    if (!options_of(job)->is_dry_run)
        return true;
    before = merge_without_server_members(job->live);
    after = merge_without_server_members(object);
    return merge_is_equal(before, after);
}

static void on_changed(void *data, json_t *object, const struct error *err)
{
    struct apply_job *job = data;

    job->call = NULL;
    if (err->kind == ERROR_NONE) {
        finish(job, is_same(job, object) ? APPLY_UNCHANGED : APPLY_CHANGED, object);
    } else if (err->kind == ERROR_CONFLICT) {
        if (may_try_again(job, err))
            send_read(job);
    } else if (err->kind == ERROR_NOT_FOUND) {
        if (may_try_again(job, err))
            create_again(job);
    } else {
        apply_job_failed(job, err);
    }
}

static void on_taken_over(void *data, json_t *object, const struct error *err)
{
    struct apply_job *job = data;

    (void)object;
    job->call = NULL;
    if (err->kind == ERROR_NONE || err->kind == ERROR_CONFLICT)
        send_read(job);
    else
        apply_job_failed(job, err);
}

static void on_applied(void *data, json_t *object, const struct error *err)
{
    struct apply_job *job = data;
    const struct apply_options *options = options_of(job);
    cleanup_json json_t *patch = NULL;

    end_creation(job, err);
    if (err->kind == ERROR_NOT_FOUND) {
        cleanup_json json_t *body =
            merge_for_create(job->manifest, job->annotations, &options->owner);

        take_missing_place(job, body, err);
        return;
    }
    if (err->kind != ERROR_NONE) {
        on_changed(job, object, err);
        return;
    }
    if (is_being_deleted(job, object))
        return;
    if (!job->has_taken_over)
        patch = managers_take_over(object, options->field_manager, options->former_managers);
    job->result->is_taken_over = patch && options->is_dry_run;
    if (patch && !options->is_dry_run) {
        job->has_taken_over = true;
        send_request(job, KUBE_PATCH_JSON, patch, on_taken_over, "changed");
    } else if (!job->live && managers_is_sole(object, options->field_manager)) {
        finish(job, APPLY_CREATED, object);
    } else {
        on_changed(job, object, err);
    }
}

static void send_apply(struct apply_job *job, const json_t *body)
{
    send_request(job, KUBE_APPLY, body, on_applied, "applied");
}

static void send_change(struct apply_job *job, const struct merge_result *change)
{
    /* Only a PUT is refused by itself if somebody else takes the object over meanwhile. */
    if (job->object->policy == POLICY_FALLBACK)
        doc_set_text(change->body, "metadata.resourceVersion",
                     doc_text_or(job->live, "metadata.resourceVersion", ""));
    if (options_of(job)->strategy == STRATEGY_APPLY) {
        /* Refused if the object is gone meanwhile, instead of creating another one. */
        doc_set_text(change->body, "metadata.uid", doc_text_or(job->live, "metadata.uid", ""));
        send_apply(job, change->body);
    } else {
        /* Unlike a PUT, a patch would be applied to whatever the object has become since the list.
         */
        if (job->is_listed)
            doc_set_text(change->body, "metadata.resourceVersion",
                         doc_text_or(job->live, "metadata.resourceVersion", ""));
        send_request(job, change->is_patch ? KUBE_PATCH_MERGE : KUBE_UPDATE, change->body,
                     on_changed, "changed");
    }
}

/* ---- Reading ---- */

static void set_live(struct apply_job *job, json_t *object)
{
    json_decref(job->live);
    job->live = json_incref(object);
    if (!options_of(job)->is_dry_run)
        return;
    json_decref(job->result->before);
    job->result->before = json_incref(object);
}

/* Whether its policy says that the object stays as it is; the job is done then. */
static bool is_left_alone(struct apply_job *job)
{
    const struct apply_owner *owner = &options_of(job)->owner;
    struct inventory_entry *entry = apply_job_entry(job);

    if (job->object->policy == POLICY_FALLBACK && !owner_has_object(owner, job->live)) {
        if (entry)
            inventory_remove(&job->apply->result->inventory, &entry->ref);
    } else if (job->object->policy == POLICY_IMMUTABLE) {
        if (is_being_deleted(job, job->live))
            return true;
        if (entry)
            note_uid(job, entry, job->live);
    } else {
        return false;
    }
    apply_job_done(job, APPLY_LEFT_ALONE, job->live);
    return true;
}

/* An object of ours whose uid was not recorded was created by an attempt that did not see its end:
 * the annotations of its creation belong to it. */
static bool is_half_created(const struct apply_job *job, const struct inventory_entry *entry)
{
    return job->object->annotate_before_create && entry && !entry->ref.uid &&
           owner_has_object(&options_of(job)->owner, job->live);
}

static void change_live(struct apply_job *job)
{
    const struct apply_options *options = options_of(job);
    const struct inventory_entry *entry = apply_job_entry(job);
    cleanup_json json_t *manifest = json_incref(job->manifest);
    struct merge_result change = {0};

    job->annotations = NULL;
    if (is_half_created(job, entry)) {
        job->annotations = job->object->annotate_before_create;
        json_decref(manifest);
        manifest = merge_for_create(job->manifest, job->annotations, &options->owner);
    }
    change = merge_for_change(job->live, manifest, options->strategy, &options->owner, entry);
    if (change.is_changed)
        send_change(job, &change);
    else
        finish(job, APPLY_UNCHANGED, job->live);
    merge_result_done(&change);
}

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct apply_job *job = data;

    job->call = NULL;
    set_live(job, object);
    if (err->kind == ERROR_NOT_FOUND) {
        if (may_try_again(job, err))
            create_again(job);
    } else if (err->kind != ERROR_NONE) {
        apply_job_failed(job, err);
    } else if (!is_left_alone(job) && !is_being_deleted(job, job->live)) {
        change_live(job);
    }
}

void apply_job_listed(struct apply_job *job, json_t *object)
{
    const struct error none = {0};

    job->is_listed = object != NULL;
    if (object)
        on_read(job, object, &none);
    else
        send_read(job);
}

static void send_read(struct apply_job *job)
{
    job->is_listed = false;
    send_request(job, KUBE_GET, NULL, on_read, "read");
}

/* ---- The beginning ---- */

/* A dry run shows what the object is at the end of the job, after its late patch. */
static json_t *effective_manifest(const struct apply_job *job)
{
    const struct plan_object *object = job->object;

    if (options_of(job)->is_dry_run && object->patch_after)
        return merge_objects(object->manifest, object->patch_after, /* is_overwriting= */ true);
    return json_incref(object->manifest);
}

/* Whether the object has to be looked at before the first write. */
static bool is_read_first(const struct apply_job *job)
{
    const struct inventory_entry *entry = apply_job_entry(job);

    if (entry && entry->ref.uid)
        return true;
    return options_of(job)->strategy == STRATEGY_APPLY &&
           (options_of(job)->is_dry_run || job->object->annotate_before_create ||
            job->object->policy == POLICY_FALLBACK);
}

void apply_job_begin(struct apply_job *job)
{
    if (!job->manifest) {
        job->manifest = effective_manifest(job);
        loop_timer_init(&job->timer, kube_loop(cluster_kube(job->apply->cluster)), on_served_timer,
                        job);
    }
    if (is_read_first(job))
        apply_job_read(job);
    else
        send_create(job);
}
