/* SPDX-License-Identifier: Apache-2.0 */
/* The OCM configuration (.ocmconfig): resolvers, credentials and root certificates. Configurations
 * of other types are ignored. */
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
    char *prefix;       /* of component names; "" matches all */
    int64_t priority;
    size_t place; /* index in the file */
};

struct ocmconfig {
    struct ocm_resolver *resolvers; /* in the order in which they are asked */
    size_t resolver_count;
    struct buffer ca_pem;       /* additional root certificates; size 0: none */
    char **docker_config_files; /* paths; the caller reads them */
    size_t docker_config_file_count;
};

/* Parses YAML and adds the credentials of registries to the keyring. The only files it reads are
 * those of root certificates. ERROR_INVALID names the entry, without secrets. The caller ends
 * *ret_config with ocmconfig_done(). */
int ocmconfig_parse(const char *text, size_t size, struct keyring *keyring,
                    struct ocmconfig *ret_config, struct error *err) must_check;
void ocmconfig_done(struct ocmconfig *config);

/* Whether the prefix of the resolver covers a component. */
bool ocm_resolver_matches(const struct ocm_resolver *resolver, const char *component_name);

static inline void ocmconfig_donep(struct ocmconfig *config)
{
    ocmconfig_done(config);
}
#define cleanup_ocmconfig __attribute__((cleanup(ocmconfig_donep)))
