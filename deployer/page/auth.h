/* SPDX-License-Identifier: Apache-2.0 */
/* Who may see the page: the API server is asked who a bearer token belongs to (TokenReview) and
 * whether that user may list a resource in all namespaces (SubjectAccessReview). */
#pragma once

#include "common/kube/client.h"

enum {
    AUTH_CACHE_MAX = 64,
    AUTH_ALLOWED_MS = 60 * 1000, /* how long a positive answer counts */
    AUTH_DENIED_MS = 10 * 1000,
    AUTH_CALLS_MAX = 8, /* reviews under way; more are refused */
    AUTH_TOKEN_MAX = 6 * 1024,
};

enum auth_result {
    AUTH_ALLOWED,
    AUTH_UNKNOWN,   /* 401: no token, or one that is not valid */
    AUTH_FORBIDDEN, /* 403: a known user without the permission */
    AUTH_BUSY,      /* 429 */
    AUTH_FAILED,    /* 503: the API server cannot be asked */
};

struct auth;
struct auth_call;

typedef void auth_fn(void *data, enum auth_result result, const char *problem);

/* kube is borrowed. */
struct auth *auth_new(struct kube *kube, struct kube_resource resource);
void auth_free(struct auth *auth); /* NULL is fine; no call may be under way */
/* header: the value of Authorization, or NULL. done is called exactly once, perhaps before this
 * returns, unless *ret_call is cancelled before. *ret_call is NULL if done was called. */
void auth_check(struct auth *auth, const char *header, auth_fn *done, void *data,
                struct auth_call **ret_call);
void auth_cancel(struct auth_call *call); /* NULL is fine */
