/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/api_write.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "common/data/uuid.h"
#include "e2e/fleet/effects.h"
#include "e2e/fleet/patch.h"
#include "e2e/fleet/rules.h"

#define MODIFIED                                                                                   \
    "the object has been modified; please apply your changes to the latest version and try again"

void api_reply_object(const struct api_call *call, int code, const struct record *record,
                      struct reply *reply)
{
    reply->code = code;
    if (api_wants_metadata(call))
        record_write_metadata(record, &reply->body);
    else
        record_write(record, call->version->api_version, call->resource->kind, &reply->body);
}

void api_reply_conflict(const struct api_call *call, const char *text, struct reply *reply)
{
    struct reply_details details = api_details(call);

    reply_failure(reply, 409, "Conflict", &details,
                  "Operation cannot be fulfilled on %s \"%s\": %s", call->resource->qualified,
                  call->name, text);
}

/* "Kyma.operator.kyma-project.io" for messages about invalid objects. */
static char *qualified_kind(const struct resource *resource)
{
    return resource->group[0] ? xasprintf("%s.%s", resource->kind, resource->group)
                              : xstrdup(resource->kind);
}

void api_reply_invalid(const struct api_call *call, const char *name, json_t *causes,
                       struct reply *reply)
{
    const json_t *first = json_array_get(causes, 0);
    cleanup_free char *kind = qualified_kind(call->resource);
    cleanup_free char *message =
        xasprintf("%s: %s", doc_text_or(first, "field", ""), doc_text_or(first, "message", ""));
    struct reply_details details = {.group = call->resource->group,
                                    .kind = call->resource->kind,
                                    .name = name,
                                    .causes = causes};

    reply_failure(reply, 422, "Invalid", &details, "%s \"%s\" is invalid: %s", kind, name, message);
}

static void bad_request(struct reply *reply, const char *text)
{
    reply_failure(reply, 400, "BadRequest", NULL, "%s", text);
}

static int check_type(const struct api_call *call, json_t *object, struct reply *reply)
{
    const char *api_version = doc_text_or(object, "apiVersion", "");
    const char *kind = doc_text_or(object, "kind", "");
    cleanup_free char *text = NULL;

    if (strcmp(api_version, call->version->api_version) == 0 &&
        strcmp(kind, call->resource->kind) == 0)
        return 0;
    if (!kind[0] && !api_version[0] && !call->resource->is_custom) {
        doc_set_text(object, "apiVersion", call->version->api_version);
        doc_set_text(object, "kind", call->resource->kind);
        return 0;
    }
    text = xasprintf("%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered",
                     kind, api_version, call->resource->kind, kind);
    bad_request(reply, text);
    return -1;
}

static int check_place(const struct api_call *call, json_t *object, struct reply *reply)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    const char *namespace_name = doc_text_or(object, "metadata.namespace", "");
    cleanup_free char *text = NULL;

    if (!json_is_object(doc_member(object, "metadata")))
        (void)json_object_set_new(object, "metadata", json_object());
    if (namespace_name[0] && strcmp(namespace_name, call->namespace_name) != 0) {
        bad_request(reply, "the namespace of the provided object does not match the namespace sent "
                           "on the request");
        return -1;
    }
    if (call->namespace_name[0])
        doc_set_text(object, "metadata.namespace", call->namespace_name);
    if (!call->name)
        return 0;
    if (name[0] && strcmp(name, call->name) != 0) {
        text = xasprintf("the name of the object (%s) does not match the name on the URL (%s)",
                         name, call->name);
        bad_request(reply, text);
        return -1;
    }
    doc_set_text(object, "metadata.name", call->name);
    return 0;
}

int api_parse_object(const struct api_call *call, json_t **ret_object, struct reply *reply)
{
    cleanup_json json_t *object = NULL;
    bool is_yaml = strstr(call->content_type, "yaml") != NULL;
    struct error err = {0};

    if (strstr(call->content_type, "protobuf")) {
        reply_failure(reply, 415, "UnsupportedMediaType", &(struct reply_details){0},
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml");
        return -1;
    }
    if ((is_yaml ? doc_parse_yaml(call->body, call->body_size, API_BODY_MAX, &object, &err)
                 : doc_parse_json(call->body, call->body_size, API_BODY_MAX, &object, &err)) < 0) {
        bad_request(reply, err.text);
        return -1;
    }
    if (!json_is_object(object)) {
        bad_request(reply, "the body of the request is not an object");
        return -1;
    }
    patch_drop_nulls(object);
    if (check_type(call, object, reply) < 0 || check_place(call, object, reply) < 0)
        return -1;
    *ret_object = steal(&object);
    return 0;
}

char *api_manager(const struct api_call *call)
{
    const char *manager = query_get(call->query, "fieldManager");

    if (manager && manager[0])
        return xstrdup(manager);
    return call->user_agent[0] ? xstrndup(call->user_agent, strcspn(call->user_agent, "/"))
                               : xstrdup("unknown");
}

struct managed_by api_managed_by(const struct api_call *call, const char *manager)
{
    bool is_namespace = strcmp(call->resource->qualified, "namespaces") == 0;

    return (struct managed_by){
        .manager = manager,
        .api_version = call->version->api_version,
        .subresource = call->subresource,
        .now_s = cluster_now_s(call->cluster),
        .ignored = {call->resource->has_status && !call->subresource[0] ? "status" : "",
                    is_namespace || strcmp(call->subresource, "status") == 0 ? "spec" : ""},
    };
}

static bool refuse_namespace(const struct api_call *call, const char *name, struct reply *reply)
{
    const struct resource *namespaces = cluster_builtin(call->cluster, "", "namespaces");
    struct reply_details details = {.kind = "namespaces", .name = call->namespace_name};

    if (!call->resource->is_namespaced)
        return false;
    if (!store_get(&call->cluster->store, namespaces, "", call->namespace_name)) {
        reply_failure(reply, 404, "NotFound", &details, "namespaces \"%s\" not found",
                      call->namespace_name);
        return true;
    }
    if (!namespace_is_terminating(call->cluster, call->namespace_name))
        return false;
    details = api_details(call);
    details.name = name;
    details.causes =
        json_pack("[{s:s, s:o, s:s}]", "reason", "NamespaceTerminating", "message",
                  json_sprintf("namespace %s is being terminated", call->namespace_name), "field",
                  "metadata.namespace");
    reply_failure(reply, 403, "Forbidden", &details,
                  "%s \"%s\" is forbidden: unable to create new content in namespace %s because it "
                  "is being terminated",
                  call->resource->qualified, name, call->namespace_name);
    return true;
}

static void generate_name(json_t *object)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *prefix = doc_text(object, "metadata.generateName");
    char uuid[UUID_TEXT_SIZE];
    char suffix[6] = {0};
    cleanup_free char *name = NULL;

    if (!prefix || doc_text_or(object, "metadata.name", "")[0])
        return;
    uuid_make(uuid);
    for (size_t i = 0; i < 5; i++)
        suffix[i] = letters[(unsigned char)(uuid[i] * 7 + uuid[i + 24]) % (sizeof(letters) - 1)];
    name = xasprintf("%s%s", prefix, suffix);
    doc_set_text(object, "metadata.name", name);
}

static void set_server_metadata(const struct api_call *call, json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");
    char uuid[UUID_TEXT_SIZE], now[TIMESTAMP_MAX];

    uuid_make(uuid);
    timestamp_format(cluster_now_s(call->cluster) * 1000, now);
    doc_set_text(object, "metadata.uid", uuid);
    doc_set_text(object, "metadata.creationTimestamp", now);
    (void)json_object_del(metadata, "resourceVersion");
    (void)json_object_del(metadata, "deletionTimestamp");
    (void)json_object_del(metadata, "deletionGracePeriodSeconds");
    (void)json_object_del(metadata, "selfLink");
    (void)json_object_del(metadata, "generation");
    if (call->resource->counts_generation)
        (void)json_object_set_new(metadata, "generation", json_integer(1));
}

/* Stores the object, or only pretends to, and responds with it. */
static void commit(const struct api_call *call, json_t *object, int code, struct reply *reply)
{
    struct cluster *cluster = call->cluster;
    struct record *record = NULL;

    if (call->is_dry_run)
        record = record_new(cluster->store.pool, object);
    else
        record = record_take(store_put(&cluster->store, call->resource, object));
    api_reply_object(call, code, record, reply);
    if (!call->is_dry_run)
        effects_written(cluster, call->resource, record);
    record_release(cluster->store.pool, record);
}

void api_create_object(const struct api_call *call, json_t *object, bool is_applied,
                       struct reply *reply)
{
    struct shape shape = shape_root(call->resource, call->version);
    cleanup_free char *manager = api_manager(call);
    struct managed_by by = api_managed_by(call, manager);
    const char *name = NULL;
    json_t *causes = NULL;

    generate_name(object);
    name = doc_text_or(object, "metadata.name", "");
    if (refuse_namespace(call, name, reply))
        return;
    if (store_get(&call->cluster->store, call->resource, call->namespace_name, name)) {
        struct reply_details details = api_details(call);

        details.name = name;
        reply_failure(reply, 409, "AlreadyExists", &details, "%s \"%s\" already exists",
                      call->resource->qualified, name);
        return;
    }
    if (call->resource->has_status)
        (void)json_object_del(object, "status");
    set_server_metadata(call, object);
    rules_complete(call->resource, call->version, object, true);
    causes = rules_check(call->resource, call->version, object);
    if (json_array_size(causes) > 0) {
        api_reply_invalid(call, name, causes, reply);
        return;
    }
    json_decref(causes);
    if (!is_applied) {
        (void)json_object_del(json_object_get(object, "metadata"), "managedFields");
        managed_update(&shape, NULL, object, &by);
    }
    commit(call, object, 201, reply);
}

void api_create(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *object = NULL;

    if (api_parse_object(call, &object, reply) < 0)
        return;
    if (doc_text_or(object, "metadata.resourceVersion", "")[0])
        reply_failure(reply, 500, NULL, NULL,
                      "resourceVersion should not be set on objects to be created");
    else
        api_create_object(call, object, false, reply);
}

/* Copies members of the metadata that only the server changes. */
static void keep_server_metadata(const json_t *before, json_t *after)
{
    static const char *const kept[] = {
        "uid",  "resourceVersion",   "creationTimestamp",          "generation",
        "name", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace",
    };
    json_t *metadata = json_object_get(after, "metadata");

    for (size_t i = 0; i < array_length(kept); i++) {
        const json_t *value = doc_member(doc_member(before, "metadata"), kept[i]);

        if (value)
            (void)json_object_set(metadata, kept[i], doc_writable(value));
        else
            (void)json_object_del(metadata, kept[i]);
    }
}

static void copy_member(const json_t *from, json_t *to, const char *key)
{
    const json_t *value = doc_member(from, key);

    if (value)
        (void)json_object_set(to, key, doc_writable(value));
    else
        (void)json_object_del(to, key);
}

/* A write to a subresource changes only that part of the object; other writes do not change it. */
static json_t *separate_status(const struct api_call *call, const json_t *before,
                               const json_t *after)
{
    bool is_status = strcmp(call->subresource, "status") == 0;
    bool is_finalize = strcmp(call->subresource, "finalize") == 0;
    json_t *result = json_deep_copy(is_status || is_finalize ? before : after);

    if (is_status) {
        copy_member(after, result, "status");
        copy_member(doc_member(after, "metadata"), json_object_get(result, "metadata"),
                    "managedFields");
    } else if (is_finalize) {
        copy_member(after, result, "spec");
        if (json_array_size(doc_get(result, "spec.finalizers")) == 0)
            (void)json_object_del(json_object_get(result, "spec"), "finalizers");
    } else if (call->resource->has_status) {
        copy_member(before, result, "status");
    }
    /* The finalizers of a namespace are changed by "finalize" only. */
    if (!is_finalize && strcmp(call->resource->qualified, "namespaces") == 0)
        copy_member(before, result, "spec");
    return result;
}

/* Stale resourceVersion or another uid. */
static bool is_refused(const struct api_call *call, const json_t *before, const json_t *after,
                       struct reply *reply)
{
    const char *version = doc_text_or(after, "metadata.resourceVersion", "");
    const char *uid = doc_text_or(after, "metadata.uid", "");
    const char *old_uid = doc_text_or(before, "metadata.uid", "");

    if (uid[0] && strcmp(uid, old_uid) != 0 && strcmp(call->method, "PATCH") == 0) {
        json_t *causes = json_array();

        /* The API server says it twice. */
        for (int i = 0; i < 2; i++)
            reply_add_cause(causes, "FieldValueInvalid", "metadata.uid",
                            "Invalid value: \"%s\": field is immutable", uid);
        api_reply_invalid(call, call->name, causes, reply);
        return true;
    }
    if (uid[0] && strcmp(uid, old_uid) != 0) {
        cleanup_free char *text = xasprintf(
            "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old_uid);

        api_reply_conflict(call, text, reply);
        return true;
    }
    if (version[0] && strcmp(version, doc_text_or(before, "metadata.resourceVersion", "")) != 0) {
        api_reply_conflict(call, MODIFIED, reply);
        return true;
    }
    return false;
}

static void count_generation(const struct api_call *call, const json_t *before, json_t *after)
{
    json_int_t generation = doc_integer_or(before, "metadata.generation", 0);

    if (call->resource->counts_generation && rules_spec_differs(call->resource, before, after))
        doc_set_new(after, "metadata.generation", json_integer(generation + 1));
}

/* Whether the last finalizer of a deleted object was removed, and the object with it. */
static bool is_end(const struct api_call *call, json_t *after, struct reply *reply)
{
    struct cluster *cluster = call->cluster;
    struct record *record = NULL;

    if (call->is_dry_run ||
        !removal_replaces(cluster, call->resource, call->namespace_name, call->name, after))
        return false;
    record = record_new(cluster->store.pool, after);
    api_reply_object(call, 200, record, reply);
    record_release(cluster->store.pool, record);
    return true;
}

static void finish_change(const struct api_call *call, const json_t *before, json_t *after,
                          struct reply *reply)
{
    struct cluster *cluster = call->cluster;

    if (is_end(call, after, reply))
        return;
    if (json_equal(doc_writable(before), after))
        api_reply_object(
            call, 200, store_get(&cluster->store, call->resource, call->namespace_name, call->name),
            reply);
    else
        commit(call, after, 200, reply);
}

void api_change_object(const struct api_call *call, const json_t *before, json_t *after,
                       bool is_applied, struct reply *reply)
{
    struct shape shape = shape_root(call->resource, call->version);
    cleanup_free char *manager = api_manager(call);
    struct managed_by by = api_managed_by(call, manager);
    cleanup_json json_t *result = NULL;
    json_t *causes = NULL;

    if (is_refused(call, before, after, reply))
        return;
    result = separate_status(call, before, after);
    keep_server_metadata(before, result);
    rules_complete(call->resource, call->version, result, false);
    causes = rules_check(call->resource, call->version, result);
    if (json_array_size(causes) > 0) {
        api_reply_invalid(call, call->name, causes, reply);
        return;
    }
    json_decref(causes);
    count_generation(call, before, result);
    if (!is_applied)
        managed_update(&shape, before, result, &by);
    finish_change(call, before, result, reply);
}

void api_update(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *after = NULL, *before = NULL;
    const struct record *record =
        store_get(&call->cluster->store, call->resource, call->namespace_name, call->name);

    if (api_parse_object(call, &after, reply) < 0)
        return;
    if (!record) {
        api_not_found(call, reply);
        return;
    }
    if (call->resource->is_custom && !doc_text_or(after, "metadata.resourceVersion", "")[0]) {
        struct reply_details details = api_details(call);

        details.causes = json_pack("[{s:s, s:s, s:s}]", "reason", "FieldValueInvalid", "message",
                                   "Invalid value: 0: must be specified for an update", "field",
                                   "metadata.resourceVersion");
        reply_failure(reply, 422, "Invalid", &details,
                      "%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
                      "specified for an update",
                      call->resource->qualified, call->name);
        return;
    }
    before = record_json(record, call->version->api_version, call->resource->kind);
    api_change_object(call, before, after, false, reply);
}
