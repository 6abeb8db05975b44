/* SPDX-License-Identifier: Apache-2.0 */
/* What several tests of the fleet need: JSON in single quotes, and a cluster with its API. */
#pragma once

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "e2e/fleet/api.h"

/* Parses JSON that is written with single quotes. A new reference. */
static inline json_t *parse(const char *text)
{
    cleanup_free char *copy = xstrdup(text);
    json_t *value = NULL;
    struct error err = {0};

    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    must(doc_parse_json(copy, strlen(copy), 1 << 20, &value, &err) == 0);
    return value;
}

struct support {
    struct clock_fake clock;
    struct cluster_shared shared;
    struct cluster cluster;
};

static inline void support_init(struct support *support, bool has_controllers)
{
    doc_setup();
    clock_fake_init(&support->clock, 1700000000000);
    support->shared = (struct cluster_shared){.pool = text_pool_new(),
                                              .resources = resources_new(),
                                              .clock = &support->clock.clock,
                                              .has_controllers = has_controllers};
    cluster_init(&support->cluster, &support->shared, 0, 100);
}

static inline void support_done(struct support *support)
{
    cluster_done(&support->cluster);
    resources_free(support->shared.resources);
    text_pool_free(support->shared.pool);
}

/* Sends a request; returns the body, a new reference, NULL if it is not JSON. */
static inline json_t *send_as(struct cluster *cluster, const char *method, const char *target,
                              const char *content_type, const char *body, int *ret_code)
{
    cleanup_query struct query query = {0};
    cleanup_reply struct reply reply = {0};
    cleanup_json json_t *object = body ? parse(body) : NULL;
    cleanup_free char *text = object ? doc_dump(object) : xstrdup("");
    struct api_call call = {.cluster = cluster,
                            .query = &query,
                            .method = method,
                            .content_type = content_type,
                            .accept = "",
                            .user_agent = "test/1",
                            .body = text,
                            .body_size = strlen(text)};
    json_t *answer = NULL;
    struct error err = {0};

    reply_init(&reply);
    query_parse(target, &query);
    api_resolve(&call);
    api_handle(&call, &reply);
    *ret_code = reply.code;
    if (doc_parse_json(reply.body.data ? reply.body.data : "", reply.body.size, 1 << 20, &answer,
                       &err) < 0)
        return NULL;
    return answer;
}

static inline int send_code(struct cluster *cluster, const char *method, const char *target,
                            const char *content_type, const char *body)
{
    int code = 0;

    json_decref(send_as(cluster, method, target, content_type, body, &code));
    return code;
}
