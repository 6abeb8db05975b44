/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the index of a chart repository. Properties: what is found has the version and a URL, and
 * does not depend on how the bytes are split. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "init/chart_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find(const char *bytes, size_t size, size_t piece, json_t **ret_entry)
{
    cleanup_chart_index struct chart_index *index = chart_index_new("app");
    struct error err = {0};

    for (size_t i = 0; i < size; i += piece) {
        size_t length = size - i < piece ? size - i : piece;

        if (chart_index_add(index, bytes + i, length, &err) < 0) {
            must(err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE);
            return -1;
        }
    }
    if (chart_index_find(index, "1.0.0", ret_entry, &err) == 0)
        return 0;
    must(err.text[0] &&
         (err.kind == ERROR_INVALID || err.kind == ERROR_NOT_FOUND || err.kind == ERROR_TOO_LARGE));
    return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *whole = NULL;
    cleanup_json json_t *split = NULL;
    int result = 0;

    doc_setup();
    result = find((const char *)data, size, size + 1, &whole);
    must(result == find((const char *)data, size, 7, &split));
    if (result < 0)
        return 0;
    must(json_equal(whole, split));
    must(json_is_string(json_array_get(doc_member(whole, "urls"), 0)));
    must(strstr(doc_text_or(whole, "version", ""), "1.0.0") != NULL);
    return 0;
}
