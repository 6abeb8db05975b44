/* SPDX-License-Identifier: Apache-2.0 */
/* Removes one object: waits until the watch has shown it, decides whether it is ours, writes what
 * has to be written before, deletes it, and waits until the watch says that it is gone.
 *
 * An interest that joins a watch may learn from a response 404 that its object does not exist, and
 * a proxy may have sent it. So an object that was never there is gone only if a list shows it. */
#include <string.h>

#include "common/apply/removal_internal.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum action { ACTION_NONE, ACTION_CONFIRM, ACTION_PREPARE, ACTION_DELETE, ACTION_STRIP };

static void send_waiting(struct removal *removal);
static void on_listed(void *data, json_t *answer, const struct error *err);

static bool has_preparation(const struct inventory_entry *entry)
{
    return entry && (json_object_size(entry->annotate_before_delete) > 0 ||
                     json_object_size(entry->patch_before_delete) > 0);
}

static enum action next_action(const struct removal_object *object)
{
    const struct removal_group *group = removal_current_group(object->removal);

    /* The kind is not known while it is looked up again. */
    if (!follow_kind(object->follow))
        return ACTION_NONE;
    if (object->is_absent)
        return ACTION_CONFIRM;
    if (!object->uid || group->is_wait_only)
        return ACTION_NONE;
    if (!object->is_prepared && has_preparation(object->entry))
        return ACTION_PREPARE;
    if (!object->is_terminating)
        return object->is_deleted ? ACTION_NONE : ACTION_DELETE;
    if (group->is_force && object->finalizers && !object->is_stripped)
        return ACTION_STRIP;
    return ACTION_NONE;
}

static void consider(struct removal_object *object)
{
    struct removal *removal = object->removal;

    if (object->is_done || object->call || object->is_waiting ||
        loop_timer_is_running(&object->timer) || next_action(object) == ACTION_NONE)
        return;
    object->is_waiting = true;
    object->next_waiting = NULL;
    if (removal->last_waiting)
        removal->last_waiting->next_waiting = object;
    else
        removal->first_waiting = object;
    removal->last_waiting = object;
    send_waiting(removal);
}

void removal_object_stop(struct removal_object *object)
{
    object->is_done = true;
    follow_stop(object->follow);
    object->follow = NULL;
    loop_timer_stop(&object->timer);
    if (object->call)
        object->removal->in_flight--;
    kube_cancel(object->call);
    object->call = NULL;
    removal_clear_problem(object->removal, &object->problem);
}

static void finish(struct removal_object *object, enum removal_verdict verdict)
{
    struct removal *removal = object->removal;

    removal_object_stop(object);
    removal->open_count--;
    removal_report(removal, object->entry, verdict);
    if (removal->is_over)
        return;
    send_waiting(removal);
    removal_go_on(removal);
}

/* ---- Requests ---- */

/* Without what an admission webhook or policy says about a Secret, which it may quote. */
static struct error without_quotes(const struct removal_object *object, const struct error *err)
{
    static const char *const phrases[] = {"denied the request", "denied request"};
    struct error safe = *err;

    for (size_t i = 0; i < array_length(phrases); i++) {
        char *found = strstr(safe.text, phrases[i]);

        if (found && strcmp(object->ref.kind, "Secret") == 0)
            found[strlen(phrases[i])] = '\0';
    }
    return safe;
}

static void fail(struct removal_object *object, const struct error *err)
{
    struct error safe = without_quotes(object, err);

    removal_set_problem(object->removal, &object->problem, &safe, false);
    object->is_conflict = err->kind == ERROR_CONFLICT;
    loop_timer_start(&object->timer, retry_next_ms(&object->retry, err));
}

static void succeed(struct removal_object *object)
{
    removal_clear_problem(object->removal, &object->problem);
    retry_reset(&object->retry);
}

static int start_call(struct removal_object *object, enum kube_verb verb, const json_t *body,
                      kube_done_fn *on_done, struct error *err)
{
    struct removal *removal = object->removal;
    const struct kind *kind = follow_kind(object->follow);
    const bool is_delete = verb == KUBE_DELETE;
    cleanup_free char *selector =
        verb == KUBE_LIST ? xasprintf("metadata.name=%s", object->ref.name) : NULL;
    const struct kube_request request = {
        .verb = verb,
        .resource = kind_resource(kind),
        .namespace_name = kind->is_namespaced ? object->ref.namespace_name : NULL,
        .name = verb == KUBE_LIST ? NULL : object->ref.name,
        .field_selector = selector,
        .query = verb == KUBE_LIST ? "limit=1" : NULL,
        .body = body,
        .field_manager = verb == KUBE_UPDATE ? removal->options.field_manager : NULL,
        .grace_seconds = -1,
        .uid = is_delete ? object->uid : NULL,
        /* Who owns the object was decided for this version of it. */
        .resource_version = is_delete && !object->is_listed ? object->version : NULL,
        .may_send = removal->options.may_send,
        .may_send_data = removal->options.may_send_data,
        .on_done = on_done,
        .data = object,
    };

    if (kube_start(cluster_kube(removal_current_cluster(removal)), &request, &object->call, err) <
        0)
        return -1;
    removal->in_flight++;
    return 0;
}

static void close_call(struct removal_object *object)
{
    object->call = NULL;
    object->removal->in_flight--;
}

/* Whether the request succeeded; otherwise the failure has been dealt with. That an object is gone
 * is left to the watch: a proxy may answer with 404, too. */
static bool end_call(struct removal_object *object, const struct error *err)
{
    close_call(object);
    if (err->kind == ERROR_NONE)
        return true;
    fail(object, err);
    return false;
}

static void go_on(struct removal_object *object)
{
    consider(object);
    send_waiting(object->removal);
}

static void on_deleted(void *data, json_t *answer, const struct error *err)
{
    struct removal_object *object = data;

    (void)answer;
    if (end_call(object, err)) {
        succeed(object);
        object->is_deleted = true;
    }
    go_on(object);
}

static void end_write(struct removal_object *object, const json_t *written)
{
    succeed(object);
    if (object->is_stripping)
        object->is_stripped = true;
    else
        object->is_prepared = true;
    free(object->version);
    object->version = xstrdup_or_null(doc_text(written, "metadata.resourceVersion"));
}

static void on_written(void *data, json_t *answer, const struct error *err)
{
    struct removal_object *object = data;

    if (end_call(object, err))
        end_write(object, answer);
    go_on(object);
}

static json_t *without_finalizers(const json_t *live)
{
    json_t *stripped = json_deep_copy(live);

    (void)json_object_del(json_object_get(stripped, "metadata"), "finalizers");
    return stripped;
}

static void write_changed(struct removal_object *object, const json_t *live)
{
    cleanup_json json_t *changed = NULL;
    struct error err = {0};

    if (strcmp(doc_text_or(live, "metadata.uid", ""), object->uid) != 0) {
        (void)error_set(&err, ERROR_CONFLICT, "the object was replaced");
        fail(object, &err);
        return;
    }
    changed =
        object->is_stripping ? without_finalizers(live) : removal_prepare(object->entry, live);
    if (json_equal(changed, live))
        end_write(object, live);
    else if (start_call(object, KUBE_UPDATE, changed, on_written, &err) < 0)
        fail(object, &err);
}

static void on_read(void *data, json_t *live, const struct error *err)
{
    struct removal_object *object = data;

    if (end_call(object, err))
        write_changed(object, live);
    go_on(object);
}

static void send(struct removal_object *object)
{
    static const struct {
        enum kube_verb verb;
        kube_done_fn *on_done;
    } requests[] = {
        [ACTION_CONFIRM] = {KUBE_LIST, on_listed},
        [ACTION_PREPARE] = {KUBE_GET, on_read},
        [ACTION_DELETE] = {KUBE_DELETE, on_deleted},
        [ACTION_STRIP] = {KUBE_GET, on_read},
    };
    enum action action = next_action(object);
    struct error err = {0};

    object->is_stripping = action == ACTION_STRIP;
    if (action != ACTION_NONE &&
        start_call(object, requests[action].verb, NULL, requests[action].on_done, &err) < 0)
        fail(object, &err);
}

static void send_waiting(struct removal *removal)
{
    while (removal->first_waiting && removal->in_flight < REMOVAL_PARALLEL_MAX) {
        struct removal_object *object = removal->first_waiting;

        removal->first_waiting = object->next_waiting;
        if (!removal->first_waiting)
            removal->last_waiting = NULL;
        object->is_waiting = false;
        if (!object->is_done)
            send(object);
    }
}

static void on_retry(void *data)
{
    consider(data);
}

/* ---- Events ---- */

static void note_live(struct removal_object *object, const json_t *live)
{
    free(object->uid);
    free(object->version);
    free(object->finalizers);
    object->uid = xstrdup(doc_text_or(live, "metadata.uid", ""));
    object->version = xstrdup_or_null(doc_text(live, "metadata.resourceVersion"));
    object->finalizers = removal_finalizers(live);
    object->is_terminating = doc_text(live, "metadata.deletionTimestamp") != NULL;
}

static enum removal_verdict judge(const struct removal_object *object, const json_t *live)
{
    const char *uid = doc_text_or(live, "metadata.uid", "");

    /* The one that was deleted, or listed, is gone; this is another one. */
    if (object->is_deleted || object->is_listed)
        return strcmp(uid, object->is_listed ? object->ref.uid : object->uid) == 0
                   ? REMOVAL_DELETE
                   : REMOVAL_REPLACED;
    return removal_judge(object->entry, live, &object->removal->options.owner);
}

static void on_live(struct removal_object *object, const json_t *live)
{
    enum removal_verdict verdict = judge(object, live);

    if (verdict != REMOVAL_DELETE) {
        finish(object, object->is_deleted || object->is_listed ? REMOVAL_DELETE : verdict);
        return;
    }
    note_live(object, live);
    object->is_absent = false;
    if (object->is_conflict) {
        object->is_conflict = false;
        loop_timer_stop(&object->timer);
    }
    consider(object);
}

/* Whether this is a list of the API server that has the object or nothing. */
static bool is_list_of(const json_t *answer, const char *name)
{
    const json_t *items = doc_member(answer, "items");

    return doc_text(answer, "metadata.resourceVersion") && json_is_array(items) &&
           (json_array_size(items) == 0 ||
            strcmp(doc_text_or(json_array_get(items, 0), "metadata.name", ""), name) == 0);
}

/* The list that shows whether an object exists that the watch did not show. */
static void on_listed(void *data, json_t *answer, const struct error *err)
{
    struct removal_object *object = data;
    struct removal *removal = object->removal;
    const json_t *live = json_array_get(doc_member(answer, "items"), 0);
    struct error invalid = {0};

    removal_enter(removal);
    close_call(object);
    if (err->kind == ERROR_NONE && !is_list_of(answer, object->ref.name)) {
        (void)error_set(&invalid, ERROR_TEMPORARY, "response did not come from the API server");
        err = &invalid;
    }
    if (err->kind == ERROR_NONE) {
        succeed(object);
        object->is_absent = false;
    }
    if (err->kind == ERROR_NONE && live)
        on_live(object, live);
    else if (err->kind == ERROR_NONE || err->kind == ERROR_DENIED)
        /* Who may not list, but get, has the state of the object from a GET. */
        finish(object, REMOVAL_DELETE);
    else
        fail(object, err);
    if (!removal->is_over)
        send_waiting(removal);
    removal_leave(removal);
}

static void on_absent(struct removal_object *object)
{
    /* Other characters would have to be escaped in a field selector. */
    if (object->uid || strpbrk(object->ref.name, ",=\\")) {
        finish(object, REMOVAL_DELETE);
    } else {
        object->is_absent = true;
        consider(object);
    }
}

/* The object cannot be watched. Without permission to read it, it may exist or not. */
static void note_unreadable(struct removal_object *object, const struct error *err)
{
    const struct kind *kind = follow_kind(object->follow);
    struct error cause = *err;

    if (err->kind == ERROR_DENIED && err->http_status != 401 && kind)
        (void)error_set(&cause, ERROR_DENIED,
                        "%s; whether the object exists cannot be seen: the user needs permission "
                        "to get, list, watch and delete %s%s%s%s",
                        err->text, kind->plural, kind->is_namespaced ? " in namespace \"" : "",
                        kind->is_namespaced ? object->ref.namespace_name : "",
                        kind->is_namespaced ? "\"" : "");
    cause.http_status = err->http_status;
    removal_set_problem(object->removal, &object->problem, &cause, true);
}

static void on_object(void *data, const json_t *live, const struct error *err)
{
    struct removal_object *object = data;
    struct removal *removal = object->removal;

    removal_enter(removal);
    if (!err && object->problem.is_of_watch)
        removal_clear_problem(removal, &object->problem);
    if (live)
        on_live(object, live);
    else if (!err)
        on_absent(object);
    else if (err->kind == ERROR_NOT_FOUND)
        finish(object, REMOVAL_DELETE);
    else
        note_unreadable(object, err);
    removal_leave(removal);
}

void removal_object_start(struct removal *removal, struct object_ref ref,
                          const struct inventory_entry *entry, bool is_listed,
                          const struct kind *kind)
{
    struct removal_object *object = xcalloc(1, sizeof(*object));

    object->removal = removal;
    object->ref = ref;
    object->entry = entry;
    object->is_listed = is_listed;
    retry_init(&object->retry, FOLLOW_RETRY_FIRST_MS, FOLLOW_RETRY_MAX_MS);
    loop_timer_init(&object->timer, removal->loop, on_retry, object);
    object->next = removal->objects;
    removal->objects = object;
    removal->open_count++;
    object->follow = follow_start(&(struct follow_options){
        .cluster = removal_current_cluster(removal),
        .api_version = object->ref.api_version,
        .kind_name = object->ref.kind,
        .kind = kind,
        .namespace_name = object->ref.namespace_name,
        .name = object->ref.name,
        .on_object = on_object,
        .data = object,
    });
}

void removal_object_free(struct removal_object *object)
{
    removal_object_stop(object);
    object_ref_done(&object->ref);
    free(object->uid);
    free(object->version);
    free(object->finalizers);
    free(object);
}
