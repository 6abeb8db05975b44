/* SPDX-License-Identifier: Apache-2.0 */
/* The OCM configuration (.ocmconfig): where else components are looked up, credentials, roots of
 * trust. Types that are not about these are passed over. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/oci/keyring.h"

enum { OCMCONFIG_MAX_BYTES = 4 * 1024 * 1024, OCMCONFIG_RESOLVERS_MAX = 1000 };

struct ocm_resolver {
    json_t *repository; /* typed repository specification */
    char *prefix;       /* of component names, "" for all */
    int64_t priority;
    size_t place; /* in the file */
};

struct ocmconfig {
    struct ocm_resolver *resolvers; /* in the order of asking */
    size_t resolver_count;
    struct buffer ca_pem;       /* further roots of trust; size 0: none */
    char **docker_config_files; /* named, not read */
    size_t docker_config_file_count;
};

/* Parses YAML text; credentials of registries go to the keyring. Reads no file but those that
 * root certificates name. ERROR_INVALID names the entry, never a secret. */
int ocmconfig_parse(const char *text, size_t size, struct keyring *keyring,
                    struct ocmconfig *ret_config, struct error *err) must_check;
void ocmconfig_done(struct ocmconfig *config);

/* Whether a resolver is to be asked for a component. */
bool ocm_resolver_matches(const struct ocm_resolver *resolver, const char *component_name);

static inline void ocmconfig_donep(struct ocmconfig *config)
{
    ocmconfig_done(config);
}
#define cleanup_ocmconfig __attribute__((cleanup(ocmconfig_donep)))
