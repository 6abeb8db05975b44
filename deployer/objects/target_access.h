/* SPDX-License-Identifier: Apache-2.0 */
/* How the cluster of a Target is reached: the content of a Target (deployer/item/target.h) becomes
 * a client configuration, for which a token may have to be requested first. Every Target is checked
 * in the same way, the item's own and second ones: no files, no exec, no auth providers, no
 * impersonation, no proxies. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/kube/client.h"
#include "common/kube/config.h"

enum access_kind {
    ACCESS_KUBECONFIG,
    ACCESS_OIDC, /* a token of a service account for another API server, which trusts Landscaper's
                  */
    ACCESS_SELF, /* a token of a service account for Landscaper's API server itself */
    ACCESS_HOST, /* the same for the cluster in which the deployer runs; see manifest.hostTarget */
};

enum {
    ACCESS_TOKEN_SECONDS = 86400,
    ACCESS_TOKEN_SECONDS_MIN = 600,
    /* After SIGTERM at its deadline a program may run for its grace period, at most this long
     * unless pod.maxTerminationGracePeriodSeconds allows more. */
    ACCESS_TOKEN_MARGIN_SECONDS = 300,
};

struct target_access {
    enum access_kind kind;
    char *kubeconfig;       /* ACCESS_KUBECONFIG; wiped when freed */
    char *server, *ca_data; /* ACCESS_OIDC; ca_data as given, in base64; NULL: that of the system */
    char *account;          /* name of the service account in the Target's namespace */
    char *account_namespace; /* ACCESS_HOST: the namespace of the account in the host cluster */
    json_t *audiences;       /* array of strings, or NULL */
    int64_t seconds;         /* requested lifetime of the token */
};

void target_access_done(struct target_access *access);
#define cleanup_target_access __attribute__((cleanup(target_access_done)))

/* ERROR_INVALID if the content cannot be used; the text names the field and contains no value of
 * it. */
int target_access_parse(const char *content, size_t size, struct target_access *ret_access,
                        struct error *err) must_check;
/* How long the token of a program lives that may run for left_ms (-1: without a limit): until its
 * end and a margin, but not longer than the Target says. */
int64_t target_access_seconds_for(const struct target_access *access, int64_t left_ms);
/* The TokenRequest for a token that lives for this time. A new reference. */
json_t *target_access_token_request(const struct target_access *access, int64_t seconds);
/* The client configuration. token is NULL for ACCESS_KUBECONFIG. landscaper and host are the
 * clients of Landscaper's API server and of that of the host cluster; they may be NULL if access is
 * of another kind. *ret_config belongs to the caller. */
int target_access_config(const struct target_access *access, const char *token,
                         const struct kube *landscaper, const struct kube *host,
                         struct kube_config **ret_config, struct error *err) must_check;

/* ---- Tokens, kept for half their lifetime ---- */

enum { TOKENS_MAX = 1024 };

struct token_cache;

struct token_cache *token_cache_new(void);
void token_cache_free(struct token_cache *cache); /* NULL is fine; wipes the tokens */
/* Identifies the token of an access. Belongs to the caller. */
char *token_cache_key(const struct target_access *access, const char *namespace_name);
/* NULL: there is none that is young enough. Borrowed until the cache changes. */
const char *token_cache_find(struct token_cache *cache, const char *key, uint64_t now_ms);
void token_cache_add(struct token_cache *cache, const char *key, const char *token,
                     uint64_t lifetime_ms, uint64_t now_ms);
/* The server did not accept a token: all of them are requested again. */
void token_cache_clear(struct token_cache *cache);
