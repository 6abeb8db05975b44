/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts for the custom checks of tests. */
#pragma once

#include "common/apply/checks.h"
#include "common/apply/tests/removal_parse.h"

static inline struct jsonpath *parse_path(const char *text)
{
    struct jsonpath *path = NULL;
    struct error err = {0};

    if (jsonpath_parse(text, &path, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return path;
}

static inline struct check_requirement parse_requirement(const json_t *doc)
{
    struct check_requirement requirement = {
        .path_text = xstrdup(doc_text_or(doc, "path", "")),
        .path = parse_path(doc_text_or(doc, "path", "")),
        .values = json_deep_copy(doc_member(doc, "values")),
    };
    struct error err = {0};

    assert_int_equal(
        requirement_parse_operator(doc_text_or(doc, "op", "exists"), &requirement.relation, &err),
        0);
    if (doc_text(doc, "from")) {
        requirement.value_from = xcalloc(1, sizeof(*requirement.value_from));
        requirement.value_from->ref = parse_ref(doc_text(doc, "from"));
        requirement.value_from->path_text = xstrdup(doc_text_or(doc, "fromPath", ""));
        requirement.value_from->path = parse_path(doc_text_or(doc, "fromPath", ""));
        requirement.value_from->target_name = xstrdup_or_null(doc_text(doc, "fromTarget"));
    }
    return requirement;
}

/* {"name": "n", "objects": ["v1 ConfigMap ns/a"], "labels": "v1 ConfigMap a=b",
 * "namespaces": [...], "min": 1, "default": true, "disabled": true, "target": "t", "requirements":
 * [{"path": ".a", "op": "==", "values": [1], "from": "v1 Secret ns/s", "fromPath": ".b",
 * "fromTarget": "t"}]} */
static inline struct custom_check parse_check(const json_t *doc)
{
    const json_t *objects = doc_member(doc, "objects");
    const json_t *requirements = doc_member(doc, "requirements");
    struct custom_check check = {
        .name = xstrdup(doc_text_or(doc, "name", "n")),
        .is_disabled = doc_bool_or(doc, "disabled", false),
        .object_count = json_array_size(objects),
        .objects = xcalloc(json_array_size(objects) + 1, sizeof(*check.objects)),
        .label_namespaces = parse_texts(doc_member(doc, "namespaces")),
        .label_min = (size_t)doc_integer_or(doc, "min", 1),
        .is_default = doc_bool_or(doc, "default", false),
        .requirement_count = json_array_size(requirements),
        .requirements = xcalloc(json_array_size(requirements) + 1, sizeof(*check.requirements)),
        .target_name = xstrdup_or_null(doc_text(doc, "target")),
    };

    for (size_t i = 0; i < check.object_count; i++)
        check.objects[i] = parse_ref(json_string_value(json_array_get(objects, i)));
    for (size_t i = 0; i < check.requirement_count; i++)
        check.requirements[i] = parse_requirement(json_array_get(requirements, i));
    if (doc_text(doc, "labels")) {
        struct object_ref labels = parse_ref(doc_text(doc, "labels"));

        check.label_api_version = steal(&labels.api_version);
        check.label_kind = steal(&labels.kind);
        check.label_selector = steal(&labels.name);
        object_ref_done(&labels);
    }
    return check;
}
