/* SPDX-License-Identifier: Apache-2.0 */
/* The API of one cluster: a request in, a response out. */
#pragma once

#include "e2e/fleet/cluster.h"
#include "e2e/fleet/query.h"
#include "e2e/fleet/reply.h"
#include "e2e/fleet/select.h"

struct api_call {
    struct cluster *cluster;
    const struct query *query;
    const char *method;
    const char *content_type, *accept, *user_agent; /* "" if not sent */
    const char *body;
    size_t body_size;

    /* Set by api_resolve(). resource is NULL for everything that is not about objects. */
    enum verb verb;
    const struct resource *resource;
    const struct resource_version *version;
    const char *namespace_name; /* "" for none or all */
    const char *name;           /* NULL: the collection */
    const char *subresource;    /* "" for none */
    bool is_dry_run;
};

/* Finds out what the request is about, without a response. */
void api_resolve(struct api_call *call);
/* "deployments.apps", "pods/status", or "": for counters. Belongs to the caller. */
char *api_label(const struct api_call *call);
/* Processes the request, unless it is a watch (watch.h). */
void api_handle(struct api_call *call, struct reply *reply);

/* Whether the client asked for PartialObjectMetadata. */
bool api_wants_metadata(const struct api_call *call);
/* The selectors of a list or a watch. -1: the response is made. */
int api_parse_selection(const struct api_call *call, struct selection **ret_selection,
                        struct reply *reply) must_check;
/* The group, resource and name of the request, for a Status. */
struct reply_details api_details(const struct api_call *call);

/* api_read.c */
void api_get(const struct api_call *call, struct reply *reply);
void api_list(const struct api_call *call, struct reply *reply);
void api_not_found(const struct api_call *call, struct reply *reply);
/* api_write.c */
void api_create(const struct api_call *call, struct reply *reply);
void api_update(const struct api_call *call, struct reply *reply);
/* api_patch.c */
void api_patch(const struct api_call *call, struct reply *reply);
/* api_delete.c */
void api_delete(const struct api_call *call, struct reply *reply);
void api_delete_collection(const struct api_call *call, struct reply *reply);
/* api_discovery.c: whether the cluster serves the group and version of the path. */
bool api_knows_version(const struct api_call *call);
/* False if the path is not one of discovery. */
bool api_discover(const struct api_call *call, struct reply *reply);
/* api_review.c: access reviews and tokens; false if it is something else. */
bool api_review(const struct api_call *call, struct reply *reply);
