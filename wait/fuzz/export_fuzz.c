/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a text that is accepted is one object for the YAML parser (or, with tabs, for the JSON
 * parser), and the result for the same bytes is always the same. */
#include <stdint.h>
#include <stdlib.h>

#include "common/data/doc.h"
#include "wait/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    cleanup_json json_t *as_yaml = NULL;
    cleanup_json json_t *as_json = NULL;
    struct error err = {0};
    struct error again = {0};
    bool is_empty = false;
    int result = export_check(text, size, &is_empty, &err);

    if (export_check(text, size, &is_empty, &again) != result)
        abort();
    if (result < 0)
        return err.kind == ERROR_NONE ? (abort(), 0) : 0;
    if (doc_parse_yaml(text, size, EXPORT_MAX_BYTES, &as_yaml, &err) < 0 &&
        doc_parse_json(text, size, EXPORT_MAX_BYTES, &as_json, &err) < 0)
        abort();
    if (!json_is_object(as_yaml ? as_yaml : as_json) != is_empty)
        abort();
    return 0;
}
