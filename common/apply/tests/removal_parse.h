/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts for the references and deletion groups of tests. */
#pragma once

#include "common/apply/removal.h"
#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

/* "v1 ConfigMap ns/name", "v1 Namespace name", with " uid" at the end if it has one. */
static inline struct object_ref parse_ref(const char *text)
{
    char api_version[100] = "", kind[100] = "", place[200] = "", uid[100] = "";
    char *const parts[] = {api_version, kind, place, uid};
    const size_t sizes[] = {sizeof(api_version), sizeof(kind), sizeof(place), sizeof(uid)};
    const char *at = text;
    char *slash = NULL;

    for (size_t i = 0; i < array_length(parts) && *at; i++) {
        size_t length = strcspn(at, " ");

        assert_true(length < sizes[i]);
        memcpy(parts[i], at, length);
        at += length + (at[length] == ' ');
    }
    slash = strchr(place, '/');
    if (slash)
        *slash = '\0';
    return (struct object_ref){
        .api_version = xstrdup(api_version),
        .kind = xstrdup(kind),
        .namespace_name = slash ? xstrdup(place) : NULL,
        .name = xstrdup(slash ? slash + 1 : place),
        .uid = uid[0] ? xstrdup(uid) : NULL,
    };
}

struct test_groups {
    struct removal_group *groups;
    size_t count;
};

static inline char **parse_texts(const json_t *list)
{
    char **texts = list ? xcalloc(json_array_size(list) + 1, sizeof(*texts)) : NULL;

    for (size_t i = 0; i < json_array_size(list); i++)
        texts[i] = xstrdup(json_string_value(json_array_get(list, i)));
    return texts;
}

static inline struct removal_group parse_group(const json_t *doc)
{
    static const char *const types[] = {
        [REMOVAL_NAMESPACED] = "namespaced",
        [REMOVAL_CLUSTER_SCOPED] = "cluster-scoped",
        [REMOVAL_CRDS] = "crds",
        [REMOVAL_NOTHING] = "empty",
        [REMOVAL_CUSTOM] = "custom",
        [REMOVAL_ALL] = "all",
        [REMOVAL_SELECTED] = "selected",
    };
    const json_t *resources = doc_member(doc, "resources");
    struct removal_group group = {
        .resource_count = json_array_size(resources),
        .resources = xcalloc(json_array_size(resources) + 1, sizeof(*group.resources)),
        .match_labels = json_deep_copy(doc_member(doc, "labels")),
        .is_force = doc_bool_or(doc, "force", false),
        .is_wait_only = doc_bool_or(doc, "waitOnly", false),
        .target_name = xstrdup_or_null(doc_text(doc, "target")),
    };

    for (size_t i = 0; i < array_length(types); i++) {
        if (strcmp(types[i], doc_text_or(doc, "type", "")) == 0)
            group.type = (enum removal_group_type)i;
    }
    for (size_t i = 0; i < group.resource_count; i++) {
        struct object_ref ref = parse_ref(json_string_value(json_array_get(resources, i)));

        group.resources[i] = (struct removal_resource){
            .api_version = steal(&ref.api_version),
            .kind = steal(&ref.kind),
            .names = parse_texts(doc_member(doc, "names")),
            .namespaces = parse_texts(doc_member(doc, "namespaces")),
        };
        object_ref_done(&ref);
    }
    return group;
}

/* [{"type": "all", "resources": ["v1 ConfigMap"], "names": [...], "namespaces": [...],
 * "labels": {...}, "target": "t", "force": true, "waitOnly": true}] */
static inline struct test_groups parse_groups(const char *text)
{
    cleanup_json json_t *doc = parse(text);
    struct test_groups groups = {.count = json_array_size(doc)};

    groups.groups = xcalloc(groups.count + 1, sizeof(*groups.groups));
    for (size_t i = 0; i < groups.count; i++)
        groups.groups[i] = parse_group(json_array_get(doc, i));
    return groups;
}

static inline struct test_groups parse_groups_of_one(const char *text)
{
    cleanup_free char *list = xasprintf("[%s]", text);

    return parse_groups(list);
}

static inline void test_groups_done(struct test_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        removal_group_done(&groups->groups[i]);
    free(groups->groups);
}
