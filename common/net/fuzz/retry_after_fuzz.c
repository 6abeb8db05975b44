/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any Retry-After the delay is within the limit, a delay below the limit does not
 * depend on it, and the delay does not grow with the current time. */
#include <stdint.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    uint32_t small = http_parse_retry_after(text, 784111777, 60000);
    uint32_t large = http_parse_retry_after(text, 784111777, UINT32_MAX);
    uint32_t later = http_parse_retry_after(text, 784111777 + 3600, 60000);

    if (small > 60000 || small != (large > 60000 ? 60000 : large) || later > small)
        abort();
    return 0;
}
