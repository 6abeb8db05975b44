/* SPDX-License-Identifier: Apache-2.0 */
/* Patches: merge, JSON, strategic merge in part, and server-side apply. */
#include "e2e/fleet/patch.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/api_write.h"
#include "e2e/fleet/apply_merge.h"

static json_t *read_live(const struct api_call *call)
{
    const struct record *record =
        store_get(&call->cluster->store, call->resource, call->namespace_name, call->name);

    return record ? record_json(record, call->version->api_version, call->resource->kind) : NULL;
}

static json_t *conflict_causes(const struct managed_conflicts *conflicts)
{
    json_t *causes = json_array();

    for (size_t i = 0; i < conflicts->count; i++) {
        const struct managed_conflict *row = &conflicts->rows[i];

        (void)json_array_append_new(
            causes, json_pack("{s:s, s:o, s:s}", "reason", "FieldManagerConflict", "message",
                              json_sprintf("conflict with %s", row->manager), "field", row->path));
    }
    return causes;
}

static void reply_conflicts(const struct managed_conflicts *conflicts, struct reply *reply)
{
    struct reply_details details = {.causes = conflict_causes(conflicts)};

    if (conflicts->count == 1) {
        reply_failure(reply, 409, "Conflict", &details,
                      "Apply failed with 1 conflict: conflict with %s: %s",
                      conflicts->rows[0].manager, conflicts->rows[0].path);
        return;
    }
    reply_failure(reply, 409, "Conflict", &details,
                  "Apply failed with %zu conflicts: conflicts with %s:\n- %s", conflicts->count,
                  conflicts->rows[0].manager, conflicts->rows[0].path);
}

/* The part of a configuration that the request can change. */
static void restrict_config(const struct api_call *call, json_t *config)
{
    bool is_status = strcmp(call->subresource, "status") == 0;
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    if (!is_status) {
        if (call->resource->has_status)
            (void)json_object_del(config, "status");
        return;
    }
    json_object_foreach_safe(config, next, key, value)
    {
        if (strcmp(key, "status") != 0 && strcmp(key, "metadata") != 0 &&
            strcmp(key, "apiVersion") != 0 && strcmp(key, "kind") != 0)
            (void)json_object_del(config, key);
    }
}

/* False: the response is made. */
static bool accepts_apply(const struct api_call *call, const json_t *config, struct reply *reply)
{
    const char *manager = query_get(call->query, "fieldManager");

    if (!manager || !manager[0]) {
        struct reply_details details = {
            .group = "meta.k8s.io",
            .kind = "PatchOptions",
            .causes =
                json_pack("[{s:s, s:s, s:s}]", "reason", "FieldValueRequired", "message",
                          "Required value: is required for apply patch", "field", "fieldManager")};

        reply_failure(reply, 422, "Invalid", &details,
                      "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                      "required for apply patch");
        return false;
    }
    if (doc_get(config, "metadata.managedFields")) {
        reply_failure(reply, 400, "BadRequest", NULL, "metadata.managedFields must be nil");
        return false;
    }
    return true;
}

static void apply(const struct api_call *call, struct reply *reply)
{
    struct shape shape = shape_root(call->resource, call->version);
    cleanup_free char *manager = api_manager(call);
    struct managed_by by = api_managed_by(call, manager);
    cleanup_conflicts struct managed_conflicts conflicts = {0};
    cleanup_json json_t *config = NULL, *live = NULL, *result = NULL;

    if (api_parse_object(call, &config, reply) < 0 || !accepts_apply(call, config, reply))
        return;
    live = read_live(call);
    if (!live && call->subresource[0]) {
        api_not_found(call, reply);
        return;
    }
    restrict_config(call, config);
    result = managed_apply(&shape, live, config, &by, query_flag(call->query, "force"), &conflicts);
    if (!result)
        reply_conflicts(&conflicts, reply);
    else if (live)
        api_change_object(call, live, result, true, reply);
    else
        api_create_object(call, result, true, reply);
}

static json_t *strategic(const struct api_call *call, const json_t *live, const json_t *patch)
{
    struct shape shape = shape_root(call->resource, call->version);
    json_t *result = apply_merge(&shape, live, patch);

    patch_drop_nulls(result);
    return result;
}

/* The patched object, a new reference; NULL: the response is made. */
static json_t *patched(const struct api_call *call, const json_t *live, const json_t *patch,
                       struct reply *reply)
{
    json_t *result = NULL;
    struct error err = {0};

    if (strncmp(call->content_type, "application/json-patch+json", 27) == 0) {
        if (patch_json(live, patch, &result, &err) < 0)
            reply_failure(reply, 422, "Invalid", &(struct reply_details){0},
                          "the server rejected our request due to an error in our request: %s",
                          err.text);
        return result;
    }
    if (strncmp(call->content_type, "application/merge-patch+json", 28) == 0)
        return patch_merge(live, patch);
    return strategic(call, live, patch);
}

static bool is_patch_type(const struct api_call *call)
{
    return strncmp(call->content_type, "application/json-patch+json", 27) == 0 ||
           strncmp(call->content_type, "application/merge-patch+json", 28) == 0 ||
           (!call->resource->is_custom &&
            strncmp(call->content_type, "application/strategic-merge-patch+json", 38) == 0);
}

void api_patch(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *live = NULL, *patch = NULL, *after = NULL;
    struct error err = {0};

    if (strncmp(call->content_type, "application/apply-patch+", 24) == 0) {
        apply(call, reply);
        return;
    }
    if (!is_patch_type(call)) {
        reply_failure(reply, 415, "UnsupportedMediaType", &(struct reply_details){0},
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json-patch+json, application/merge-patch+json, "
                      "application/apply-patch+yaml");
        return;
    }
    if (doc_parse_json(call->body, call->body_size, API_BODY_MAX, &patch, &err) < 0) {
        reply_failure(reply, 400, "BadRequest", NULL, "%s", err.text);
        return;
    }
    live = read_live(call);
    if (!live) {
        api_not_found(call, reply);
        return;
    }
    after = patched(call, live, patch, reply);
    if (after)
        api_change_object(call, live, after, false, reply);
}
