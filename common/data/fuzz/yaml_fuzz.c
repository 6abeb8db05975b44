/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a parsed document can be written as YAML and as JSON, and both parse to the same
 * tree. The size of the tree is limited by that of the input and the alias budget. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/data/doc_budget.h"

enum { SIZE_LIMIT = 1 << 16, ALIAS_NODES = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *doc = NULL;
    cleanup_json json_t *from_yaml = NULL;
    cleanup_json json_t *from_json = NULL;
    cleanup_json json_t *stream = NULL;
    cleanup_free char *yaml = NULL;
    cleanup_free char *json = NULL;
    struct doc_budget bound = {.nodes_left = size + ALIAS_NODES + 1,
                               .bytes_left = size * 3 + 10 + SIZE_LIMIT};
    struct error err = {0};

    if (doc_parse_yaml((const char *)data, size, SIZE_LIMIT, &doc, &err) < 0) {
        insist(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
        return 0;
    }
    insist(doc_height(doc) <= DOC_DEPTH_MAX);
    insist(doc_budget_take(&bound, doc));
    insist(doc_parse_yaml_stream((const char *)data, size, SIZE_LIMIT, &stream, &err) == 0);
    insist(json_array_size(stream) <= 1);
    yaml = doc_dump_yaml(doc);
    insist(doc_parse_yaml(yaml, strlen(yaml), SIZE_MAX, &from_yaml, &err) == 0);
    insist(json_equal(doc, from_yaml));
    json = doc_dump(doc);
    insist(doc_parse_json(json, strlen(json), SIZE_MAX, &from_json, &err) == 0);
    insist(json_equal(doc, from_json));
    return 0;
}
