/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of logs and messages: what is cut is not longer than it may be, loses no more than a
 * character, and what was UTF-8 still is; as JSON the text is UTF-8 whatever it was, and the same
 * if it was. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/fuzz/must.h"
#include "deployer/item/text.h"

enum { CHARACTER_MAX = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_utf8(const char *text, size_t size)
{
    uint32_t code = 0;
    size_t length = 0;

    for (; size > 0; text += length, size -= length) {
        length = utf8_decode(text, size, &code);
        if (length == 0)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    size_t max = size ? data[0] : 0;
    size_t end = 0, start = 0;
    json_t *json = NULL;
    bool is_text = false;

    if (size == 0)
        return 0;
    size--;
    is_text = is_utf8(text, size);
    end = text_cut(text, size, max);
    start = text_tail(text, size, max);
    must(end <= max && end <= size && start <= size && size - start <= max);
    must(size > max || (end == size && start == 0));
    if (is_text)
        must(is_utf8(text, end) && is_utf8(text + start, size - start) &&
             (end == size || max - end < CHARACTER_MAX) &&
             (start == 0 || max - (size - start) < CHARACTER_MAX));
    json = text_json(text, size);
    must(json && is_utf8(json_string_value(json), json_string_length(json)));
    must(!is_text ||
         (json_string_length(json) == size && memcmp(json_string_value(json), text, size) == 0));
    json_decref(json);
    return 0;
}
