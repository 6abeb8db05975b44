/* SPDX-License-Identifier: Apache-2.0 */
/* A character that was read is written back as the bytes it was read from, and text is UTF-8 for us
 * exactly if it is for jansson, whose check is another. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t encode(uint32_t code, uint8_t ret_bytes[4])
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = length - 1; i > 0; i--) {
        ret_bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    ret_bytes[0] = (uint8_t)(marks[length] | code);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *judged = json_stringn(size ? (const char *)data : "", size);
    size_t at = 0;

    while (at < size) {
        uint32_t code = UINT32_MAX;
        uint8_t bytes[4] = {0};
        size_t length = utf8_decode((const char *)data + at, size - at, &code);

        if (length == 0) {
            if (code != UINT32_MAX)
                abort();
            break;
        }
        if (length > size - at || encode(code, bytes) != length ||
            memcmp(bytes, data + at, length) != 0)
            abort();
        at += length;
    }
    if ((at == size) != (judged != NULL))
        abort();
    json_decref(judged);
    return 0;
}
