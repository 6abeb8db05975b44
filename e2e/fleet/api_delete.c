/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/api_write.h"
#include "e2e/fleet/effects.h"
#include "e2e/fleet/one_of.h"

static int parse_policy(const json_t *options, const struct query *query,
                        enum removal_policy *ret_policy)
{
    const char *text = doc_text(options, "propagationPolicy");

    if (!text)
        text = query_get(query, "propagationPolicy");
    *ret_policy = REMOVE_BACKGROUND;
    if (!text || strcmp(text, "Background") == 0)
        return 0;
    *ret_policy = REMOVE_FOREGROUND;
    if (strcmp(text, "Foreground") == 0)
        return 0;
    *ret_policy = REMOVE_ORPHAN;
    return strcmp(text, "Orphan") == 0 ? 0 : -1;
}

/* The DeleteOptions in the body, NULL if there are none. -1: the response is made. */
static int parse_options(const struct api_call *call, json_t **ret_options,
                         enum removal_policy *ret_policy, struct reply *reply)
{
    struct error err = {0};

    if (call->body_size > 0 &&
        doc_parse_json(call->body, call->body_size, API_BODY_MAX, ret_options, &err) < 0) {
        reply_failure(reply, 400, "BadRequest", NULL, "%s", err.text);
        return -1;
    }
    if (parse_policy(*ret_options, call->query, ret_policy) == 0)
        return 0;
    {
        struct reply_details details = {
            .group = "meta.k8s.io",
            .kind = "DeleteOptions",
            .causes = json_pack("[{s:s, s:s, s:s}]", "reason", "FieldValueNotSupported", "message",
                                "Unsupported value", "field", "propagationPolicy")};

        reply_failure(reply, 422, "Invalid", &details,
                      "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported "
                      "value");
    }
    return -1;
}

static bool meets(const struct api_call *call, const json_t *options, const struct record *record,
                  struct reply *reply)
{
    const char *uid = doc_text(options, "preconditions.uid");
    const char *version = doc_text(options, "preconditions.resourceVersion");
    cleanup_free char *own = xasprintf("%llu", (unsigned long long)record->resource_version);
    cleanup_free char *text = NULL;

    if (uid && strcmp(uid, record->uid) != 0)
        text = xasprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s",
                         uid, record->uid);
    else if (version && strcmp(version, own) != 0)
        text = xasprintf("Precondition failed: ResourceVersion in precondition: %s, "
                         "ResourceVersion in object meta: %s",
                         version, own);
    if (text) {
        struct reply_details details = api_details(call);

        details.kind = call->resource->kind;
        reply_failure(reply, 409, "Conflict", &details,
                      "Operation cannot be fulfilled on %s \"%s\": %s", call->resource->qualified,
                      call->name, text);
    }
    return !text;
}

/* Kinds whose deletion is answered with the object. */
static bool returns_deleted(const struct resource *resource)
{
    static const char *const names[] = {
        "namespaces",
        "pods",
        "serviceaccounts",
        "persistentvolumes",
        "persistentvolumeclaims",
        "podtemplates",
        "resourcequotas",
        "storageclasses.storage.k8s.io",
    };

    return is_one_of(names, array_length(names), resource->qualified);
}

void api_delete(const struct api_call *call, struct reply *reply)
{
    struct cluster *cluster = call->cluster;
    struct reply_details details = api_details(call);
    cleanup_json json_t *options = NULL;
    enum removal_policy policy = REMOVE_BACKGROUND;
    struct record *before = NULL;
    const struct record *after = NULL;
    bool is_dry_run = false;

    if (parse_options(call, &options, &policy, reply) < 0)
        return;
    before = store_get(&cluster->store, call->resource, call->namespace_name, call->name);
    if (!before) {
        api_not_found(call, reply);
        return;
    }
    if (!meets(call, options, before, reply))
        return;
    before = record_take(before);
    is_dry_run = call->is_dry_run || json_array_size(doc_member(options, "dryRun")) > 0;
    if (!is_dry_run)
        (void)removal_start(cluster, call->resource, call->namespace_name, call->name, policy);
    after = store_get(&cluster->store, call->resource, call->namespace_name, call->name);
    details.uid = before->uid;
    /* What is held by a finalizer is returned, and so are pods and namespaces. */
    if (after && (!is_dry_run || record_has_metadata(after, "finalizers")))
        api_reply_object(call, 200, after, reply);
    else if (returns_deleted(call->resource))
        api_reply_object(call, 200, before, reply);
    else
        reply_success(reply, &details);
    record_release(cluster->store.pool, before);
}

void api_delete_collection(const struct api_call *call, struct reply *reply)
{
    struct cluster *cluster = call->cluster;
    const char *namespace_name = call->namespace_name[0] ? call->namespace_name : NULL;
    cleanup_selection struct selection *selection = NULL;
    cleanup_json json_t *options = NULL;
    enum removal_policy policy = REMOVE_BACKGROUND;
    const struct record *record = NULL;
    size_t index = store_first(&cluster->store, call->resource, namespace_name);

    if (parse_options(call, &options, &policy, reply) < 0 ||
        api_parse_selection(call, &selection, reply) < 0)
        return;
    api_list(call, reply); /* of what is deleted */
    while ((record = store_at(&cluster->store, call->resource, namespace_name, index))) {
        cleanup_free char *place = xstrdup(record->namespace_name->bytes);
        cleanup_free char *name = xstrdup(record->name->bytes);

        if (call->is_dry_run || !selection_matches(selection, record) ||
            !removal_start(cluster, call->resource, place, name, policy) ||
            store_get(&cluster->store, call->resource, place, name))
            index++;
    }
}
