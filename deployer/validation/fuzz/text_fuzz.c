/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of truncation: a truncated text is not longer than the limit, at most one character
 * shorter than it, and still UTF-8 if the text was. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/fuzz/must.h"
#include "deployer/validation/text.h"

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
    return 0;
}
