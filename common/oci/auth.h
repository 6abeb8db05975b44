/* SPDX-License-Identifier: Apache-2.0 */
/* What a registry asks for in WWW-Authenticate, and who may be given credentials. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { CHALLENGE_MAX_BYTES = 8 * 1024, TOKEN_ANSWER_MAX_BYTES = 128 * 1024 };

/* All challenges of an answer together. Texts belong to it. */
struct challenge {
    bool is_basic;                 /* Basic is offered */
    char *realm, *service, *scope; /* of the first Bearer challenge; realm NULL: none is offered */
    bool is_insufficient_scope;    /* error="insufficient_scope" */
};

/* Adds what one header value says; a value can carry several challenges. Nonsense is passed over:
 * an unreadable challenge is none. */
void challenge_add(struct challenge *challenge, const char *header);
void challenge_done(struct challenge *challenge);

/* Whether a realm may have the credentials of this registry: it is the same host (any port), or one
 * of the two is a subdomain of the other (auth.docker.io for docker.io, gitlab.com for
 * registry.gitlab.com). */
bool auth_is_realm_of(const char *registry_host, const char *realm_host);

struct realm {
    char *host; /* lower case, without port */
    bool is_https;
};

/* ERROR_INVALID for what is no http(s) URL, has user info or a fragment. */
int auth_parse_realm(const char *url, struct realm *ret_realm, struct error *err) must_check;
/* The same for a realm that is to be asked: ERROR_DENIED if it has no TLS, unless the registry has
 * none either. */
int auth_check_realm(const char *url, const char *registry_host, bool is_registry_plain,
                     struct realm *ret_realm, struct error *err) must_check;
void realm_done(struct realm *realm);

/* realm?service=..&scope=.., one scope parameter a word; a query of the realm stays. */
char *auth_token_url(const char *realm, const char *service, const char *scope);
/* The body of a refresh-token request. Secret: wipe it. */
char *auth_refresh_form(const char *service, const char *scope, const char *refresh_token);

/* Token and its life from the token server's answer. *ret_token is a secret of the caller. */
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
