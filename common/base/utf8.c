/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/utf8.h"

/* The smallest code that needs as many bytes: anything below is an overlong form. */
static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

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
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return length;
}
