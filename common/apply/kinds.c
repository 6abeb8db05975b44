/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/kinds.h"

#include <string.h>

#include "common/apply/reference.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/names.h"

struct learnt_kind {
    char *name;
    struct kind address;
    bool is_readable; /* has the verb get */
};

struct learnt_version {
    char *api_version;
    struct learnt_kind *kinds;
    size_t count;
    bool is_discovered;
};

struct kind_set {
    struct learnt_version *versions;
    size_t count;
};

struct kind kind_copy(const struct kind *kind)
{
    return (struct kind){
        .group = xstrdup(kind->group),
        .version = xstrdup(kind->version),
        .plural = xstrdup(kind->plural),
        .is_namespaced = kind->is_namespaced,
    };
}

void kind_done(struct kind *kind)
{
    free(kind->group);
    free(kind->version);
    free(kind->plural);
    *kind = (struct kind){0};
}

bool kind_is_crd(const char *api_version, const char *kind)
{
    static const char group_and_slash[] = "apiextensions.k8s.io/";

    return strcmp(kind, "CustomResourceDefinition") == 0 &&
           strncmp(api_version, group_and_slash, strlen(group_and_slash)) == 0;
}

struct kube_resource kind_resource(const struct kind *kind)
{
    return (struct kube_resource){kind->group, kind->version, kind->plural};
}

struct kind_set *kind_set_new(void)
{
    return xcalloc(1, sizeof(struct kind_set));
}

static void version_done(struct learnt_version *version)
{
    for (size_t i = 0; i < version->count; i++) {
        free(version->kinds[i].name);
        kind_done(&version->kinds[i].address);
    }
    free(version->kinds);
    free(version->api_version);
}

void kind_set_free(struct kind_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        version_done(&set->versions[i]);
    free(set->versions);
    free(set);
}

static struct learnt_version *find_version(const struct kind_set *set, const char *api_version)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->versions[i].api_version, api_version) == 0)
            return &set->versions[i];
    }
    return NULL;
}

static struct learnt_version *make_version(struct kind_set *set, const char *api_version)
{
    struct learnt_version *version = find_version(set, api_version);

    if (version)
        return version;
    set->versions = xreallocarray(set->versions, set->count + 1, sizeof(*set->versions));
    version = &set->versions[set->count++];
    *version = (struct learnt_version){.api_version = xstrdup(api_version)};
    return version;
}

static struct learnt_kind *find_kind(const struct learnt_version *version, const char *name)
{
    for (size_t i = 0; i < version->count; i++) {
        if (strcmp(version->kinds[i].name, name) == 0)
            return &version->kinds[i];
    }
    return NULL;
}

/* Adds a kind, or replaces it unless only the known one can be read. */
static void learn(struct learnt_version *version, const char *name, const char *plural,
                  bool is_namespaced, bool is_readable)
{
    struct learnt_kind *known = find_kind(version, name);
    const char *group = NULL;
    const char *version_name = NULL;
    size_t group_size = 0;

    if (known && known->is_readable && !is_readable)
        return;
    if (known) {
        free(known->name);
        kind_done(&known->address);
    } else {
        version->kinds = xreallocarray(version->kinds, version->count + 1, sizeof(*version->kinds));
        known = &version->kinds[version->count++];
    }
    api_version_split(version->api_version, &group, &group_size, &version_name);
    *known = (struct learnt_kind){
        .name = xstrdup(name),
        .address = {xstrndup(group, group_size), xstrdup(version_name), xstrdup(plural),
                    is_namespaced},
        .is_readable = is_readable,
    };
}

static bool is_name(const char *text)
{
    return text && name_is_dns_subdomain(text);
}

void kind_set_add_crd(struct kind_set *set, const json_t *crd)
{
    const char *group = doc_text(crd, "spec.group");
    const char *kind = doc_text_or(crd, "spec.names.kind", "");
    const char *plural = doc_text(crd, "spec.names.plural");
    const char *scope = doc_text_or(crd, "spec.scope", "");
    const json_t *versions = doc_get(crd, "spec.versions");
    bool is_namespaced = strcmp(scope, "Namespaced") == 0;

    if (!kind_is_crd(doc_text_or(crd, "apiVersion", ""), doc_text_or(crd, "kind", "")) ||
        !is_name(group) || !is_name(plural) || !*kind ||
        (!is_namespaced && strcmp(scope, "Cluster") != 0))
        return;
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *version = json_array_get(versions, i);
        const char *name = doc_text(version, "name");
        cleanup_free char *api_version = NULL;

        if (!is_name(name) || !doc_bool_or(version, "served", true))
            continue;
        api_version = xasprintf("%s/%s", group, name);
        learn(make_version(set, api_version), kind, plural, is_namespaced, true);
    }
}

static bool can_be_read(const json_t *verbs)
{
    for (size_t i = 0; i < json_array_size(verbs); i++) {
        const char *verb = json_string_value(json_array_get(verbs, i));

        if (verb && strcmp(verb, "get") == 0)
            return true;
    }
    return false;
}

int kind_set_add_discovery(struct kind_set *set, const char *api_version, const json_t *list,
                           struct error *err)
{
    const json_t *resources = doc_get(list, "resources");
    struct learnt_version *version = NULL;

    if (strcmp(doc_text_or(list, "kind", ""), "APIResourceList") != 0 ||
        strcmp(doc_text_or(list, "groupVersion", ""), api_version) != 0 ||
        (resources && !json_is_array(resources) && !json_is_null(resources)))
        return error_set(err, ERROR_INVALID,
                         "discovery of \"%.253s\": the response is not the list of its resources",
                         api_version);
    kind_set_forget(set, api_version);
    version = make_version(set, api_version);
    version->is_discovered = true;
    for (size_t i = 0; i < json_array_size(resources); i++) {
        const json_t *resource = json_array_get(resources, i);
        const char *plural = doc_text(resource, "name");
        const char *kind = doc_text_or(resource, "kind", "");

        if (!is_name(plural) || !*kind)
            continue;
        learn(version, kind, plural, doc_bool_or(resource, "namespaced", false),
              can_be_read(doc_get(resource, "verbs")));
    }
    return 0;
}

void kind_set_forget(struct kind_set *set, const char *api_version)
{
    struct learnt_version *version = find_version(set, api_version);

    if (!version)
        return;
    version_done(version);
    *version = set->versions[--set->count];
}

bool kind_set_is_discovered(const struct kind_set *set, const char *api_version)
{
    const struct learnt_version *version = find_version(set, api_version);

    return version && version->is_discovered;
}

const struct kind *kind_set_find(const struct kind_set *set, const char *api_version,
                                 const char *kind)
{
    const struct learnt_version *version = find_version(set, api_version);
    const struct learnt_kind *known = version ? find_kind(version, kind) : NULL;

    return known ? &known->address : NULL;
}
