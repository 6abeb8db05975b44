/* SPDX-License-Identifier: Apache-2.0 */
/* Registry credentials from Docker configs, chosen by the longest matching path prefix. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct keyring;

struct credential {
    const char *username, *password, *identity_token, *registry_token; /* each may be NULL */
    const char *ca_pem; /* trusted in addition for this host (OCM credentials), or NULL */
};

struct keyring *keyring_new(void);
void keyring_free(struct keyring *keyring); /* wipes the secrets */

/* Adds the entries of a Docker config: {"auths": {...}} (config.json, .dockerconfigjson) or the
 * plain map of .dockercfg. Returns the number of entries added; those without credentials are
 * ignored. Credential helpers (credsStore, credHelpers) are not supported, but counted in
 * *ret_helpers. ERROR_INVALID names origin and key, never a secret. */
int keyring_add_docker_config(struct keyring *keyring, const char *origin, const json_t *config,
                              size_t *ret_helpers, struct error *err) must_check;
/* Adds one entry; strings are copied. address is [http[s]://]host[:port][/path]. */
int keyring_add(struct keyring *keyring, const char *address, const struct credential *credential,
                struct error *err) must_check;

/* The best match, borrowed, or NULL. The longest path prefix wins, then a literal host over a
 * pattern, then an exact port, then the entry added first. Like the kubelet, '*', '?' and '[...]'
 * match within one label of the host, and a leading /v1/ or /v2/ is not part of the path.
 * docker.io, index.docker.io, registry-1.docker.io and https://index.docker.io/v1/ are the same. */
const struct credential *keyring_find(const struct keyring *keyring, const char *host,
                                      const char *repository);
/* The entry for this very host without a path; patterns are ignored. Borrowed, or NULL. */
const struct credential *keyring_find_host(const struct keyring *keyring, const char *host);

/* {"auths": {"<host>": {...}}} with username, password and auth, as the kubelet expects it.
 * docker.io becomes https://index.docker.io/v1/. New reference. */
json_t *keyring_docker_config(const char *host, const struct credential *credential);

define_cleanup(struct keyring *, keyring_free)
#define cleanup_keyring __attribute__((cleanup(keyring_freep)))
