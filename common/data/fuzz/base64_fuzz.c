/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: any bytes are the same after encoding and decoding, and decoded bytes are the same
 * after encoding and decoding again. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void comes_back(const void *bytes, size_t size)
{
    cleanup_free char *text = base64_encode(bytes, size);
    cleanup_buffer struct buffer back = {0};
    struct error err = {0};

    buffer_init(&back, size);
    if (strlen(text) != (size + 2) / 3 * 4 || base64_decode(text, strlen(text), &back, &err) < 0 ||
        back.size != size || (size > 0 && memcmp(back.data, bytes, size) != 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer struct buffer bytes = {0};
    struct error err = {0};

    comes_back(data, size);
    buffer_init(&bytes, size);
    if (base64_decode((const char *)data, size, &bytes, &err) == 0)
        comes_back(bytes.data, bytes.size);
    else if (bytes.size != 0)
        abort();
    return 0;
}
