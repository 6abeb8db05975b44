/* SPDX-License-Identifier: Apache-2.0 */
/* What registry.c (fetches) and registry_token.c (access) share. */
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
};

enum access_scheme {
    ACCESS_ANONYMOUS,
    ACCESS_BASIC,
    ACCESS_BEARER,
};

struct registry_token;

struct registry_host {
    struct registry_host *next;
    char *name;          /* as the reference writes it: "docker.io", "localhost:5000" */
    char *contact;       /* where requests go: "registry-1.docker.io" */
    bool is_plain_asked; /* the reference said http:// */
    bool is_plain;
    bool is_scheme_settled; /* it has answered: https or not is no question any more */
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
    struct digest *digest;     /* of the bytes handed out */
    uint64_t offset;           /* bytes handed out */
    uint64_t skip;             /* of this answer, bytes that were handed out before */
    bool has_begun;            /* the answer's head has been judged */
    bool is_range_useless;     /* the server does not resume */

    struct retry retry;
    struct loop_timer timer;
    uint64_t give_up_at_ms;
    uint64_t attempt_at_ms, attempt_offset, gained_offset;

    struct http_call *http;
    bool is_plain;      /* this attempt: the host may be tried otherwise by others meanwhile */
    char *wanted_scope; /* NULL: the usual one */
    unsigned authorizations;
    bool is_authorized;    /* this attempt carries credentials */
    bool is_realm_foreign; /* credentials were held back, for the error text */
    struct registry_token *waits_for;
    struct registry_call *next_waiter;
};

const struct credential *registry_credential(const struct registry *registry,
                                             const struct registry_host *host,
                                             const char *repository);

/* Begins an attempt; the callback of call->timer. The call may be gone afterwards, as with the
 * next two. */
void registry_call_attempt(void *data);
/* Sends the request, with this bearer token (NULL: none) or basic credential (NULL: none). */
void registry_call_send(struct registry_call *call, const char *bearer,
                        const struct credential *basic);
/* Tries again later, or ends the call. */
void registry_call_fail(struct registry_call *call, const struct error *err);

/* Finds out how this call is to be authorised and goes on with registry_call_send(), perhaps later.
 */
void registry_authorize(struct registry_call *call);
/* Learns from a 401. False: nothing more can be done, err says why. */
bool registry_learn_challenge(struct registry_call *call, const struct http_response *response,
                              struct error *err);
void registry_token_forget_waiter(struct registry_call *call);
void registry_tokens_free(struct registry_host *host);
