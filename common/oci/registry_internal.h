/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by registry.c (hosts and names), registry_call.c (attempts and retries), registry_token.c
 * (authorization) and registry_read.c (blocking calls). */
#pragma once

#include "common/base/loop.h"
#include "common/data/digest.h"
#include "common/net/retry.h"
#include "common/oci/auth.h"
#include "common/oci/registry.h"

enum {
    REGISTRY_DEADLINE_DEFAULT_MS = 120 * 1000,
    REGISTRY_RETRY_FIRST_MS = 250,
    REGISTRY_RETRY_MAX_MS = 5000,
    REGISTRY_RETRY_AFTER_MAX_MS = 60 * 1000,
    REGISTRY_STALL_MS = 30 * 1000,
    REGISTRY_REDIRECTS_MAX = 10,
    REGISTRY_AUTHORIZATIONS_MAX = 1, /* a second 401 in a row is final */
    REGISTRY_FINAL_REPEATS = 3,      /* of the same obstacle in a row */
    REGISTRY_UNKNOWN_HOST_MS = 10 * 1000,
};

/* Failures that are retried a few times only, since they rarely resolve themselves. */
enum registry_obstacle {
    OBSTACLE_NONE,
    OBSTACLE_UNKNOWN_HOST,
    OBSTACLE_PLAIN_HTTP, /* answered on a TLS connection */
    OBSTACLE_WEB_PAGE,
};

enum access_scheme {
    ACCESS_ANONYMOUS,
    ACCESS_BASIC,
    ACCESS_BEARER,
};

struct registry_token;

struct registry_host {
    struct registry_host *next;
    char *name;          /* as in the reference: "docker.io", "localhost:5000" */
    char *contact;       /* host of the requests: "registry-1.docker.io" */
    bool is_plain_asked; /* place->is_plain_http */
    bool is_plain;
    bool is_scheme_settled; /* it has responded, so is_plain is right */
    enum access_scheme scheme;
    char *realm, *service;
    char *ca_pem;
    struct http_tls tls;
    struct registry_token *tokens;
};

struct registry {
    struct loop *loop;
    struct http_client *http;
    const struct keyring *keyring;
    bool is_plain_http_allowed, is_insecure;
    uint64_t deadline_ms;
    char *extra_ca_pem;
    void (*on_retry)(void *data, const struct error *err, uint32_t delay_ms);
    void *on_retry_data;
    struct http_tls tls; /* for token servers of other hosts */
    struct registry_host *hosts;
    struct registry_call *calls;
};

struct registry_call {
    struct registry *registry;
    struct registry_host *host;
    struct registry_call *next, **link; /* all calls of the registry */
    char *repository, *object;
    bool is_manifest;
    registry_manifest_fn *on_manifest;
    void *manifest_data;

    struct registry_blob blob; /* its digest is object */
    struct digest *digest;     /* of the bytes passed to on_bytes */
    uint64_t offset;           /* number of these bytes */
    bool has_begun;            /* begin_body() was called for this response */
    bool is_range_useless;     /* the server does not support Range */

    struct retry retry;
    enum registry_obstacle obstacle; /* of the last attempt */
    unsigned obstacle_repeats;       /* in a row */
    uint64_t obstacle_since_ms;
    struct loop_timer timer;
    uint64_t give_up_at_ms;
    uint64_t attempt_at_ms, attempt_offset, gained_offset;

    struct http_call *http;
    bool is_plain;      /* of this attempt; other calls may change host->is_plain */
    char *wanted_scope; /* of the challenge; NULL: repository:<name>:pull */
    unsigned authorizations;
    bool is_authorized;    /* this attempt sends credentials */
    bool is_realm_foreign; /* credentials were not sent to the realm, for the message */
    struct registry_token *waits_for;
    struct registry_call *next_waiter;
};

const struct credential *registry_credential(const struct registry *registry,
                                             const struct registry_host *host,
                                             const char *repository);

/* Starts an attempt; callback of call->timer. This and the next two functions may free the call. */
void registry_call_attempt(void *data);
/* Sends the request with a bearer token or a basic credential; both may be NULL. */
void registry_call_send(struct registry_call *call, const char *bearer,
                        const struct credential *basic);
/* Schedules a retry, or ends the call. */
void registry_call_fail(struct registry_call *call, const struct error *failure);

/* Authorizes the call and continues with registry_call_send(), at once or once a token was
 * received. */
void registry_authorize(struct registry_call *call);
/* Handles a 401. False if a further attempt is useless; err says why. */
bool registry_learn_challenge(struct registry_call *call, const struct http_response *response,
                              struct error *err);
void registry_token_forget_waiter(struct registry_call *call);
void registry_tokens_free(struct registry_host *host);
