/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/helm/capabilities.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/data/doc.h"

static void add_text(json_t *list, char *text)
{
    (void)json_array_append_new(list, json_string(text));
    free(text);
}

static void add_kinds(json_t *kinds, const char *group, const json_t *version)
{
    const json_t *resources = doc_member(version, "resources");

    for (size_t i = 0; i < json_array_size(resources); i++) {
        const char *kind = doc_text(json_array_get(resources, i), "responseKind.kind");

        if (kind && *kind)
            add_text(kinds,
                     xasprintf("%s/%s/%s", group, doc_text_or(version, "version", ""), kind));
    }
}

/* APIGroupDiscoveryList. */
static void add_group(json_t *versions, json_t *kinds, const json_t *group)
{
    const char *name = doc_text_or(group, "metadata.name", "");
    const json_t *list = doc_member(group, "versions");

    for (size_t i = 0; *name && i < json_array_size(list); i++) {
        const json_t *version = json_array_get(list, i);

        add_text(versions, xasprintf("%s/%s", name, doc_text_or(version, "version", "")));
        add_kinds(kinds, name, version);
    }
}

/* APIGroupList, of servers before Kubernetes 1.27. */
static void add_old_group(json_t *versions, const json_t *group)
{
    const json_t *list = doc_member(group, "versions");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *version = doc_text(json_array_get(list, i), "groupVersion");

        if (version)
            (void)json_array_append_new(versions, json_string(version));
    }
}

json_t *helm_api_versions(const json_t *discovery)
{
    const json_t *items = doc_member(discovery, "items");
    const json_t *groups = doc_member(discovery, "groups");
    json_t *versions = json_array();
    json_t *kinds = json_array();

    for (size_t i = 0; i < json_array_size(items); i++)
        add_group(versions, kinds, json_array_get(items, i));
    for (size_t i = 0; i < json_array_size(groups); i++)
        add_old_group(versions, json_array_get(groups, i));
    (void)json_array_extend(versions, kinds);
    json_decref(kinds);
    return versions;
}

bool helm_is_capability_refused(const struct error *err)
{
    return err->kind == ERROR_NOT_FOUND || (err->kind == ERROR_DENIED && err->http_status == 403);
}
