/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that create nothing: access reviews, which allow everything, and tokens of
 * ServiceAccounts. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"
#include "e2e/fleet/api_write.h"

static bool is_review(const struct query *query)
{
    return query->segment_count >= 4 && strcmp(query->segments[0], "apis") == 0 &&
           strcmp(query->segments[1], "authorization.k8s.io") == 0 &&
           strstr(query->segments[query->segment_count - 1], "accessreviews");
}

static bool parse_body(const struct api_call *call, json_t **ret_object, struct reply *reply)
{
    struct error err = {0};

    if (doc_parse_json(call->body, call->body_size, API_BODY_MAX, ret_object, &err) == 0 &&
        json_is_object(*ret_object))
        return true;
    reply_failure(reply, 400, "BadRequest", NULL, "%s", err.text);
    return false;
}

static void allow(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *review = NULL;

    if (!parse_body(call, &review, reply))
        return;
    (void)json_object_set_new(review, "status", json_pack("{s:b}", "allowed", 1));
    reply_json(reply, 201, review);
}

static void issue_token(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *request = NULL;
    cleanup_free char *token = NULL;
    char expiry[TIMESTAMP_MAX];

    if (!store_get(&call->cluster->store, call->resource, call->namespace_name, call->name)) {
        api_not_found(call, reply);
        return;
    }
    if (!parse_body(call, &request, reply))
        return;
    timestamp_format(
        (cluster_now_s(call->cluster) + doc_integer_or(request, "spec.expirationSeconds", 3600)) *
            1000,
        expiry);
    token = xasprintf("fleet-%u-serviceaccount-%s-%s", call->cluster->index, call->namespace_name,
                      call->name);
    (void)json_object_set_new(
        request, "status", json_pack("{s:s, s:s}", "token", token, "expirationTimestamp", expiry));
    reply_json(reply, 201, request);
}

bool api_review(const struct api_call *call, struct reply *reply)
{
    if (strcmp(call->method, "POST") != 0)
        return false;
    if (is_review(call->query)) {
        allow(call, reply);
        return true;
    }
    if (!call->resource || strcmp(call->resource->qualified, "serviceaccounts") != 0 ||
        strcmp(call->subresource, "token") != 0)
        return false;
    issue_token(call, reply);
    return true;
}
