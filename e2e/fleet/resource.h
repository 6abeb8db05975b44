/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of objects that a server has: the built-in ones, and those of
 * CustomResourceDefinitions. A definition that many clusters have is parsed and stored once. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

enum { RESOURCE_VERSIONS_MAX = 8 };

struct resource_version {
    char *name;        /* "v1" */
    char *api_version; /* "apps/v1" */
    bool is_served, is_stored;
    const json_t *schema; /* openAPIV3Schema of a custom resource, or NULL; borrowed from json */
};

struct resource {
    char *group, *plural, *singular, *kind, *list_kind;
    char *qualified; /* "deployments.apps", for messages */
    bool is_namespaced;
    bool is_custom;
    bool has_status;        /* a status subresource */
    bool counts_generation; /* metadata.generation */
    struct resource_version versions[RESOURCE_VERSIONS_MAX];
    size_t version_count;
    json_t *definition; /* spec of the CustomResourceDefinition, or NULL */
    struct resource *next;
};

struct resources;

struct resources *resources_new(void);
void resources_free(struct resources *resources);
define_cleanup(struct resources *, resources_free)
#define cleanup_resources __attribute__((cleanup(resources_freep)))

/* The built-in kinds by index, NULL behind the last. */
const struct resource *resources_builtin(const struct resources *resources, size_t index);
const struct resource *resources_find_builtin(const struct resources *resources, const char *group,
                                              const char *plural);
/* What a definition describes, shared by all clusters with the same definition; lives as long as
 * resources. NULL if the definition is malformed. */
const struct resource *resources_custom(struct resources *resources, const json_t *definition);

/* NULL: not a version, or not served. */
const struct resource_version *resource_find_version(const struct resource *resource,
                                                     const char *name);
