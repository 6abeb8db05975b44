/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/resource.h"

#include <ctype.h>
#include <string.h>

#include "common/apply/kinds.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/one_of.h"

struct resources {
    struct resource **builtins;
    size_t builtin_count;
    struct resource *customs;
};

static const char *const with_status[] = {
    "namespaces",
    "nodes",
    "pods",
    "services",
    "persistentvolumes",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "customresourcedefinitions",
    "apiservices",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "horizontalpodautoscalers",
    "cronjobs",
    "jobs",
    "certificatesigningrequests",
    "ingresses",
    "poddisruptionbudgets",
    "validatingadmissionpolicies",
    "flowschemas",
    "prioritylevelconfigurations",
};

static const char *const with_generation[] = {
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "replicationcontrollers",
    "customresourcedefinitions",
    "ingresses",
    "ingressclasses",
    "networkpolicies",
    "poddisruptionbudgets",
    "jobs",
    "cronjobs",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "priorityclasses",
    "flowschemas",
    "prioritylevelconfigurations",
};

static char *lower(const char *text)
{
    char *result = xstrdup(text);

    for (char *letter = result; *letter; letter++)
        *letter = (char)tolower((unsigned char)*letter);
    return result;
}

static struct resource_version *add_version(struct resource *resource, const char *name)
{
    struct resource_version *version = NULL;

    if (resource->version_count == RESOURCE_VERSIONS_MAX)
        return NULL;
    version = &resource->versions[resource->version_count++];
    version->name = xstrdup(name);
    version->api_version =
        resource->group[0] ? xasprintf("%s/%s", resource->group, name) : xstrdup(name);
    version->is_served = true;
    version->is_stored = resource->version_count == 1;
    return version;
}

static struct resource *new_resource(const char *group, const char *plural, const char *kind)
{
    struct resource *resource = xcalloc(1, sizeof(*resource));

    resource->group = xstrdup(group);
    resource->plural = xstrdup(plural);
    resource->kind = xstrdup(kind);
    resource->singular = lower(kind);
    resource->list_kind = xasprintf("%sList", kind);
    resource->qualified = group[0] ? xasprintf("%s.%s", plural, group) : xstrdup(plural);
    return resource;
}

static void free_resource(struct resource *resource)
{
    for (size_t i = 0; i < resource->version_count; i++) {
        free(resource->versions[i].name);
        free(resource->versions[i].api_version);
    }
    free(resource->group);
    free(resource->plural);
    free(resource->singular);
    free(resource->kind);
    free(resource->list_kind);
    free(resource->qualified);
    json_decref(resource->definition);
    free(resource);
}

static struct resource *find_builtin(const struct resources *resources, const char *group,
                                     const char *plural)
{
    for (size_t i = 0; i < resources->builtin_count; i++) {
        struct resource *resource = resources->builtins[i];

        if (strcmp(resource->plural, plural) == 0 && strcmp(resource->group, group) == 0)
            return resource;
    }
    return NULL;
}

struct resources *resources_new(void)
{
    struct resources *resources = xcalloc(1, sizeof(*resources));
    const char *api_version = NULL, *kind = NULL;
    const struct kind *address = NULL;

    for (size_t i = 0; kind_builtin_at(i, &api_version, &kind, &address); i++) {
        struct resource *resource = find_builtin(resources, address->group, address->plural);

        if (!resource) {
            resource = new_resource(address->group, address->plural, kind);
            resource->is_namespaced = address->is_namespaced;
            resource->has_status =
                is_one_of(with_status, array_length(with_status), address->plural);
            resource->counts_generation =
                is_one_of(with_generation, array_length(with_generation), address->plural);
            resources->builtins = xreallocarray(resources->builtins, resources->builtin_count + 1,
                                                sizeof(struct resource *));
            resources->builtins[resources->builtin_count++] = resource;
        }
        (void)add_version(resource, address->version);
    }
    return resources;
}

void resources_free(struct resources *resources)
{
    struct resource *next = NULL;

    if (!resources)
        return;
    for (size_t i = 0; i < resources->builtin_count; i++)
        free_resource(resources->builtins[i]);
    for (struct resource *custom = resources->customs; custom; custom = next) {
        next = custom->next;
        free_resource(custom);
    }
    free(resources->builtins);
    free(resources);
}

const struct resource *resources_builtin(const struct resources *resources, size_t index)
{
    return index < resources->builtin_count ? resources->builtins[index] : NULL;
}

const struct resource *resources_find_builtin(const struct resources *resources, const char *group,
                                              const char *plural)
{
    return find_builtin(resources, group, plural);
}

static void add_custom_versions(struct resource *resource)
{
    const json_t *versions = doc_get(resource->definition, "versions");

    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *row = json_array_get(versions, i);
        struct resource_version *version = add_version(resource, doc_text_or(row, "name", ""));

        if (!version)
            return;
        version->is_served = doc_bool_or(row, "served", false);
        version->is_stored = doc_bool_or(row, "storage", false);
        version->schema = doc_get(row, "schema.openAPIV3Schema");
        resource->has_status = resource->has_status || doc_get(row, "subresources.status");
    }
}

const struct resource *resources_custom(struct resources *resources, const json_t *definition)
{
    const char *group = doc_text(definition, "group");
    const char *plural = doc_text(definition, "names.plural");
    const char *kind = doc_text(definition, "names.kind");
    struct resource *resource = resources->customs;

    if (!group || !plural || !kind || json_array_size(doc_get(definition, "versions")) == 0)
        return NULL;
    while (resource && !json_equal(resource->definition, doc_writable(definition)))
        resource = resource->next;
    if (resource)
        return resource;
    resource = new_resource(group, plural, kind);
    resource->is_custom = true;
    resource->counts_generation = true;
    resource->is_namespaced = strcmp(doc_text_or(definition, "scope", ""), "Namespaced") == 0;
    resource->definition = json_deep_copy(definition);
    add_custom_versions(resource);
    resource->next = resources->customs;
    resources->customs = resource;
    return resource;
}

const struct resource_version *resource_find_version(const struct resource *resource,
                                                     const char *name)
{
    for (size_t i = 0; i < resource->version_count; i++) {
        const struct resource_version *version = &resource->versions[i];

        if (version->is_served && strcmp(version->name, name) == 0)
            return version;
    }
    return NULL;
}
