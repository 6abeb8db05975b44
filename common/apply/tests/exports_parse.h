/* SPDX-License-Identifier: Apache-2.0 */
/* Short texts for the exports of tests. */
#pragma once

#include "common/apply/exports.h"
#include "common/apply/tests/checks_parse.h"

/* {"key": "k", "path": ".a", "from": "v1 ConfigMap ns/a", "ref": "v1 Secret", "refPath": ".b",
 * "target": "t"} */
static inline struct export_rule parse_export(const json_t *doc)
{
    struct export_rule rule = {
        .key = xstrdup(doc_text_or(doc, "key", "k")),
        .path_text = xstrdup(doc_text_or(doc, "path", ".a")),
        .path = parse_path(doc_text_or(doc, "path", ".a")),
        .from = parse_ref(doc_text_or(doc, "from", "v1 ConfigMap ns/a")),
        .target_name = xstrdup_or_null(doc_text(doc, "target")),
    };

    if (doc_text(doc, "ref")) {
        struct object_ref ref = parse_ref(doc_text(doc, "ref"));

        rule.reference_api_version = steal(&ref.api_version);
        rule.reference_kind = steal(&ref.kind);
        rule.reference_path_text = xstrdup(doc_text_or(doc, "refPath", ".b"));
        rule.reference_path = parse_path(rule.reference_path_text);
        object_ref_done(&ref);
    }
    return rule;
}
