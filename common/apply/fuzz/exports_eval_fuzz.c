/* SPDX-License-Identifier: Apache-2.0 */
/* The input is the key of an export. A value that is placed under a valid key is found there again,
 * below as many names as the key has. */
#include <stdint.h>
#include <string.h>

#include "common/apply/exports_eval.h"
#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *key = xstrndup((const char *)data, size);
    cleanup_json json_t *values = json_object();
    cleanup_json json_t *value = json_integer(7);
    const json_t *found = values;
    struct error err = {0};
    size_t depth = 0;

    doc_setup();
    if (export_key_check(key, &err) < 0) {
        must(err.kind == ERROR_INVALID && err.text[0]);
        return 0;
    }
    export_place(values, key, value);
    for (; json_is_object(found); depth++) {
        must(json_object_size(found) == 1);
        found = json_object_iter_value(json_object_iter(doc_writable(found)));
    }
    must(json_integer_value(found) == 7);
    must(depth >= 1 && depth <= EXPORT_KEY_NAMES_MAX);
    return 0;
}
