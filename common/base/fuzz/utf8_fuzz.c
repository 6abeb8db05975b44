/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a decoded character is encoded to the same bytes; text is valid if and only if
 * jansson, which has its own check, accepts it; any bytes can be repaired. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The repaired text is UTF-8, and is the same if it was so before. */
static void check_repair(const char *bytes, size_t size, int is_text)
{
    char *repaired = utf8_repair(bytes, size);
    json_t *accepted = json_string(repaired);

    if (!accepted || (is_text && (strlen(repaired) != size || memcmp(repaired, bytes, size) != 0)))
        abort();
    json_decref(accepted);
    free(repaired);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *judged = json_stringn(size ? (const char *)data : "", size);
    size_t at = 0;

    while (at < size) {
        uint32_t code = UINT32_MAX;
        char bytes[4] = {0};
        size_t length = utf8_decode((const char *)data + at, size - at, &code);

        if (length == 0) {
            if (code != UINT32_MAX)
                abort();
            break;
        }
        if (length > size - at || utf8_put(code, bytes) != length ||
            memcmp(bytes, data + at, length) != 0)
            abort();
        at += length;
    }
    if ((at == size) != (judged != NULL))
        abort();
    check_repair((const char *)data, size, judged && (size == 0 || !memchr(data, 0, size)));
    json_decref(judged);
    return 0;
}
