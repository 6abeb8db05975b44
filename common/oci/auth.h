/* SPDX-License-Identifier: Apache-2.0 */
/* Registry authentication without I/O: WWW-Authenticate challenges, token requests and responses,
 * and the decision which token server may receive credentials. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { CHALLENGE_MAX_BYTES = 8 * 1024, TOKEN_ANSWER_MAX_BYTES = 128 * 1024 };

/* All challenges of a response. Owns its strings. */
struct challenge {
    bool is_basic; /* Basic is offered */
    char *realm, *service,
        *scope;                 /* of the first Bearer challenge; realm is NULL if there is none */
    bool is_insufficient_scope; /* error="insufficient_scope" */
};

/* Parses a header value, which can contain several challenges. Malformed challenges are ignored. */
void challenge_add(struct challenge *challenge, const char *header);
void challenge_done(struct challenge *challenge);

/* Whether credentials for the registry may be sent to the realm: both are the same host (any port),
 * or one is a subdomain of the other (auth.docker.io and docker.io, gitlab.com and
 * registry.gitlab.com). */
bool auth_is_realm_of(const char *registry_host, const char *realm_host);

struct realm {
    char *host; /* lower case, without port */
    bool is_https;
};

/* ERROR_INVALID if url is not an http or https URL, or has user info or a fragment. */
int auth_parse_realm(const char *url, struct realm *ret_realm, struct error *err) must_check;
/* Same, and ERROR_DENIED if the realm has no TLS but the registry has. */
int auth_check_realm(const char *url, const char *registry_host, bool is_registry_plain,
                     struct realm *ret_realm, struct error *err) must_check;
void realm_done(struct realm *realm);

/* realm?service=...&scope=..., one scope parameter per word; an existing query is kept. */
char *auth_token_url(const char *realm, const char *service, const char *scope);
/* The body of a refresh-token request. Secret: wipe it. */
char *auth_refresh_form(const char *service, const char *scope, const char *refresh_token);

/* Parses the response of a token server. *ret_token belongs to the caller, who must wipe it. */
int auth_parse_token(const char *bytes, size_t size, char **ret_token, uint64_t *ret_life_ms,
                     struct error *err) must_check;

static inline void challenge_donep(struct challenge *challenge)
{
    challenge_done(challenge);
}
#define cleanup_challenge __attribute__((cleanup(challenge_donep)))
static inline void realm_donep(struct realm *realm)
{
    realm_done(realm);
}
#define cleanup_realm __attribute__((cleanup(realm_donep)))
