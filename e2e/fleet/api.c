/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/api.h"

#include <string.h>

#include "common/base/memory.h"

/* The segments behind "/api/v1" or "/apis/GROUP/VERSION". */
struct address {
    const char *group, *version;
    char *const *rest;
    size_t count;
};

static bool split_version(const struct query *query, struct address *ret_address)
{
    char *const *segments = query->segments;
    size_t count = query->segment_count;

    if (count >= 3 && strcmp(segments[0], "api") == 0) {
        *ret_address = (struct address){"", segments[1], segments + 2, count - 2};
        return true;
    }
    if (count >= 4 && strcmp(segments[0], "apis") == 0) {
        *ret_address = (struct address){segments[1], segments[2], segments + 3, count - 3};
        return true;
    }
    return false;
}

static bool is_subresource_of_namespace(const char *text)
{
    return strcmp(text, "status") == 0 || strcmp(text, "finalize") == 0;
}

static enum verb verb_of(const struct api_call *call)
{
    if (strcmp(call->method, "GET") == 0 || strcmp(call->method, "HEAD") == 0) {
        if (query_flag(call->query, "watch"))
            return VERB_WATCH;
        return call->name ? VERB_GET : VERB_LIST;
    }
    if (strcmp(call->method, "POST") == 0)
        return VERB_CREATE;
    if (strcmp(call->method, "PUT") == 0)
        return VERB_UPDATE;
    if (strcmp(call->method, "PATCH") == 0)
        return VERB_PATCH;
    if (strcmp(call->method, "DELETE") == 0)
        return call->name ? VERB_DELETE : VERB_DELETE_COLLECTION;
    return VERB_OTHER;
}

void api_resolve(struct api_call *call)
{
    struct address address = {0};
    const char *value = query_get(call->query, "dryRun");

    call->verb = VERB_OTHER;
    call->namespace_name = call->subresource = "";
    call->is_dry_run = value && strcmp(value, "All") == 0;
    if (!split_version(call->query, &address))
        return;
    if (address.count >= 3 && strcmp(address.rest[0], "namespaces") == 0 &&
        !(address.count == 3 && is_subresource_of_namespace(address.rest[2]))) {
        call->namespace_name = address.rest[1];
        address.rest += 2;
        address.count -= 2;
    }
    call->resource = cluster_find_resource(call->cluster, address.group, address.rest[0]);
    if (call->resource)
        call->version = resource_find_version(call->resource, address.version);
    if (!call->version || (call->namespace_name[0] && !call->resource->is_namespaced)) {
        call->resource = NULL;
        return;
    }
    call->name = address.count > 1 ? address.rest[1] : NULL;
    call->subresource = address.count > 2 ? address.rest[2] : "";
    call->verb = verb_of(call);
}

char *api_label(const struct api_call *call)
{
    if (!call->resource)
        return xstrdup("");
    return call->subresource[0] ? xasprintf("%s/%s", call->resource->qualified, call->subresource)
                                : xstrdup(call->resource->qualified);
}

bool api_wants_metadata(const struct api_call *call)
{
    return strstr(call->accept, "as=PartialObjectMetadata") != NULL;
}

struct reply_details api_details(const struct api_call *call)
{
    return (struct reply_details){
        .group = call->resource->group, .kind = call->resource->plural, .name = call->name};
}

int api_parse_selection(const struct api_call *call, struct selection **ret_selection,
                        struct reply *reply)
{
    struct error err = {0};

    if (selection_parse(query_get(call->query, "labelSelector"),
                        query_get(call->query, "fieldSelector"), ret_selection, &err) == 0)
        return 0;
    reply_failure(reply, 400, "BadRequest", NULL, "%s", err.text);
    return -1;
}

static bool has_subresource(const struct api_call *call)
{
    if (!call->subresource[0])
        return true;
    if (strcmp(call->subresource, "status") == 0)
        return call->resource->has_status;
    return strcmp(call->subresource, "finalize") == 0 &&
           strcmp(call->resource->qualified, "namespaces") == 0;
}

static void refuse_method(const struct api_call *call, struct reply *reply)
{
    struct reply_details details = {0};

    (void)call;
    reply_failure(reply, 405, "MethodNotAllowed", &details,
                  "the server does not allow this method on the requested resource");
}

void api_handle(struct api_call *call, struct reply *reply)
{
    struct reply_details none = {0};

    if (api_review(call, reply) || (!call->resource && api_discover(call, reply)))
        return;
    if (call->resource && call->resource->is_custom && !has_subresource(call)) {
        api_not_found(call, reply);
        return;
    }
    if (!call->resource || !has_subresource(call)) {
        if (api_knows_version(call))
            reply_failure(reply, 404, "NotFound", &none,
                          "the server could not find the requested resource");
        else
            reply_text(reply, 404, "404 page not found\n");
        return;
    }
    switch (call->verb) {
    case VERB_GET:
        api_get(call, reply);
        return;
    case VERB_LIST:
        api_list(call, reply);
        return;
    case VERB_CREATE:
        if (!call->name)
            api_create(call, reply);
        else
            refuse_method(call, reply);
        return;
    case VERB_UPDATE:
    case VERB_PATCH:
        if (!call->name)
            refuse_method(call, reply);
        else if (call->verb == VERB_UPDATE)
            api_update(call, reply);
        else
            api_patch(call, reply);
        return;
    case VERB_DELETE:
        api_delete(call, reply);
        return;
    case VERB_DELETE_COLLECTION:
        api_delete_collection(call, reply);
        return;
    case VERB_WATCH:
    case VERB_OTHER:
        refuse_method(call, reply);
        return;
    }
}
