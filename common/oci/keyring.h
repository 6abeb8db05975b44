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

/* {"auths": {...}} (config.json, .dockerconfigjson) or the bare map of .dockercfg. Entries without
 * credentials are passed over; the number added is returned (>= 0), -1 with ERROR_INVALID naming
 * origin and key, never a secret. Helpers (credsStore, credHelpers) are counted in *ret_helpers. */
int keyring_add_docker_config(struct keyring *keyring, const char *origin, const json_t *config,
                              size_t *ret_helpers, struct error *err) must_check;
/* One entry: address is host[:port][/path], scheme allowed. Texts are copied. */
int keyring_add(struct keyring *keyring, const char *address, const struct credential *credential,
                struct error *err) must_check;

/* Longest path prefix wins, then a host that is no pattern, then an exact port, then the order of
 * adding. As for the kubelet, '*', '?' and '[...]' in a host match within one label, and /v1/ or
 * /v2/ before the path is the API's. docker.io, index.docker.io, registry-1.docker.io and
 * https://index.docker.io/v1/ are one. NULL if nothing matches. Borrowed. */
const struct credential *keyring_find(const struct keyring *keyring, const char *host,
                                      const char *repository);
/* The same for a whole host that an entry names itself: a pattern is no such name. */
const struct credential *keyring_find_host(const struct keyring *keyring, const char *host);

/* {"auths": {"<host>": {...}}} for a kubelet, with username, password and auth filled in. New
 * reference; docker.io is written as https://index.docker.io/v1/. */
json_t *keyring_docker_config(const char *host, const struct credential *credential);

define_cleanup(struct keyring *, keyring_free)
#define cleanup_keyring __attribute__((cleanup(keyring_freep)))
