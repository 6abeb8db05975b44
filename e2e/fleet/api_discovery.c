/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: /version, /api, /apis, and the resources of a group and version. */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "e2e/fleet/api.h"

/* Calls visit for every resource of the cluster. */
typedef void visit_fn(void *data, const struct resource *resource);

static void visit_all(const struct cluster *cluster, visit_fn *visit, void *data)
{
    const struct resource *resource = NULL;

    for (size_t i = 0; (resource = resources_builtin(cluster->shared->resources, i)); i++)
        visit(data, resource);
    for (size_t i = 0; i < cluster->custom_count; i++)
        visit(data, cluster->customs[i]);
}

struct resource_list {
    const char *group, *version;
    json_t *rows;
};

static json_t *verbs(bool is_custom, bool is_subresource)
{
    if (is_custom && !is_subresource) /* in another order */
        return json_pack("[s, s, s, s, s, s, s, s]", "delete", "deletecollection", "get", "list",
                         "patch", "create", "update", "watch");
    return is_subresource
               ? json_pack("[s, s, s]", "get", "patch", "update")
               : json_pack("[s, s, s, s, s, s, s, s]", "create", "delete", "deletecollection",
                           "get", "list", "patch", "update", "watch");
}

static json_t *make_row(const struct resource *resource, const char *subresource)
{
    cleanup_free char *name = subresource[0] ? xasprintf("%s/%s", resource->plural, subresource)
                                             : xstrdup(resource->plural);

    return json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", name, "singularName",
                     subresource[0] ? "" : resource->singular, "namespaced",
                     (int)resource->is_namespaced, "kind", resource->kind, "verbs",
                     verbs(resource->is_custom, subresource[0] != '\0'));
}

static void add_resource(void *data, const struct resource *resource)
{
    struct resource_list *list = data;

    if (strcmp(resource->group, list->group) != 0 ||
        !resource_find_version(resource, list->version))
        return;
    (void)json_array_append_new(list->rows, make_row(resource, ""));
    if (resource->has_status)
        (void)json_array_append_new(list->rows, make_row(resource, "status"));
}

static json_t *resources_of(const struct cluster *cluster, const char *group, const char *version)
{
    struct resource_list list = {.group = group, .version = version, .rows = json_array()};

    visit_all(cluster, add_resource, &list);
    return list.rows;
}

bool api_knows_version(const struct api_call *call)
{
    const struct query *query = call->query;
    bool is_core = query->segment_count > 1 && strcmp(query->segments[0], "api") == 0;
    bool is_group = query->segment_count > 2 && strcmp(query->segments[0], "apis") == 0;
    cleanup_json json_t *rows = NULL;

    if (!is_core && !is_group)
        return false;
    rows = resources_of(call->cluster, is_core ? "" : query->segments[1],
                        query->segments[is_core ? 1 : 2]);
    return json_array_size(rows) > 0;
}

static bool list_resources(const struct api_call *call, const char *group, const char *version,
                           struct reply *reply)
{
    json_t *rows = resources_of(call->cluster, group, version);
    cleanup_free char *name = group[0] ? xasprintf("%s/%s", group, version) : xstrdup(version);
    cleanup_json json_t *answer =
        json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion", "v1",
                  "groupVersion", name, "resources", rows);

    if (json_array_size(rows) == 0)
        return false;
    reply_json(reply, 200, answer);
    return true;
}

static json_t *find_group(json_t *groups, const char *name)
{
    json_t *group = NULL;

    for (size_t i = 0; i < json_array_size(groups); i++) {
        group = json_array_get(groups, i);
        if (strcmp(doc_text_or(group, "name", ""), name) == 0)
            return group;
    }
    group = json_pack("{s:s, s:[]}", "name", name, "versions");
    (void)json_array_append_new(groups, group);
    return group;
}

static void add_group(void *data, const struct resource *resource)
{
    json_t *groups = data;
    json_t *group = NULL;

    if (!resource->group[0])
        return;
    group = find_group(groups, resource->group);
    for (size_t i = 0; i < resource->version_count; i++) {
        const struct resource_version *version = &resource->versions[i];
        json_t *row =
            json_pack("{s:s, s:s}", "groupVersion", version->api_version, "version", version->name);
        json_t *versions = json_object_get(group, "versions");
        bool is_known = !version->is_served;

        for (size_t k = 0; k < json_array_size(versions); k++)
            is_known = is_known || json_equal(json_array_get(versions, k), row);
        if (!is_known)
            (void)json_array_append(versions, row);
        json_decref(row);
        if (!is_known && !doc_member(group, "preferredVersion"))
            (void)json_object_set(group, "preferredVersion",
                                  json_array_get(versions, json_array_size(versions) - 1));
    }
}

static json_t *make_groups(const struct api_call *call)
{
    json_t *groups = json_array();

    visit_all(call->cluster, add_group, groups);
    return groups;
}

static void reply_groups(const struct api_call *call, struct reply *reply)
{
    cleanup_json json_t *answer = json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion",
                                            "v1", "groups", make_groups(call));

    reply_json(reply, 200, answer);
}

static bool reply_group(const struct api_call *call, const char *name, struct reply *reply)
{
    cleanup_json json_t *groups = make_groups(call);

    for (size_t i = 0; i < json_array_size(groups); i++) {
        json_t *group = json_array_get(groups, i);

        if (strcmp(doc_text_or(group, "name", ""), name) != 0)
            continue;
        (void)json_object_set_new(group, "kind", json_string("APIGroup"));
        (void)json_object_set_new(group, "apiVersion", json_string("v1"));
        reply_json(reply, 200, group);
        return true;
    }
    return false;
}

static void reply_version(struct reply *reply)
{
    cleanup_json json_t *answer = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s}", "major", "1", "minor", "34", "gitVersion",
        "v1.34.0+fleet", "gitTreeState", "clean", "goVersion", "none", "platform", "linux/amd64");

    reply_json(reply, 200, answer);
}

static void reply_core(struct reply *reply)
{
    cleanup_json json_t *answer = json_pack("{s:s, s:[s], s:[]}", "kind", "APIVersions", "versions",
                                            "v1", "serverAddressByClientCIDRs");

    reply_json(reply, 200, answer);
}

bool api_discover(const struct api_call *call, struct reply *reply)
{
    char *const *segments = call->query->segments;
    size_t count = call->query->segment_count;
    bool is_core = count > 0 && strcmp(segments[0], "api") == 0;
    bool is_groups = count > 0 && strcmp(segments[0], "apis") == 0;

    if (count == 1 && (strcmp(segments[0], "healthz") == 0 || strcmp(segments[0], "readyz") == 0 ||
                       strcmp(segments[0], "livez") == 0)) {
        reply_text(reply, 200, "ok");
        return true;
    }
    if (count == 1 && strcmp(segments[0], "version") == 0)
        reply_version(reply);
    else if (is_core && count == 1)
        reply_core(reply);
    else if (is_groups && count == 1)
        reply_groups(call, reply);
    else if (is_core && count == 2)
        return list_resources(call, "", segments[1], reply);
    else if (is_groups && count == 2)
        return reply_group(call, segments[1], reply);
    else if (is_groups && count == 3)
        return list_resources(call, segments[1], segments[2], reply);
    else
        return false;
    return true;
}
