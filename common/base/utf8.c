/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/utf8.h"

#include <string.h>

#include "common/base/memory.h"

/* The smallest code point for each length: anything below is an overlong form. */
static const uint32_t minimum[] = {0, 0, 0x80, 0x800, 0x10000};

size_t utf8_decode(const char *text, size_t size, uint32_t *ret_code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t code = 0;
    size_t length = 0;

    if (!size)
        return 0;
    if (bytes[0] < 0x80) {
        *ret_code = bytes[0];
        return 1;
    }
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
        return 0;
    length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    if (length > size)
        return 0;
    code = bytes[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    if (code < minimum[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return length;
}

size_t utf8_put(uint32_t code, char *out)
{
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(lead[length] | code);
    return length;
}

char *utf8_repair(const char *bytes, size_t size)
{
    static const char replacement[3] = {'\xef', '\xbf', '\xbd'};
    char *text = xcalloc(size + 1, sizeof(replacement));
    size_t used = 0;

    for (size_t i = 0; i < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(bytes + i, size - i, &code);

        if (length > 0 && code != 0) {
            memcpy(text + used, bytes + i, length);
            used += length;
        } else {
            memcpy(text + used, replacement, sizeof(replacement));
            used += sizeof(replacement);
        }
        i += length > 0 ? length : 1;
    }
    return text;
}
