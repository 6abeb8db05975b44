/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a parsed time, formatted to the second or the millisecond, parses to the same time.
 * Offsets may lead to years that can't be written; such times are clamped. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    char written[TIMESTAMP_MAX] = {0};
    struct error err = {0};
    int64_t unix_ms = 0;
    int64_t back = 0;

    if (timestamp_parse(text, &unix_ms, &err) < 0)
        return 0;
    timestamp_format_micro(unix_ms, written);
    if (timestamp_parse(written, &back, &err) < 0)
        abort();
    if (back != unix_ms && unix_ms >= -62167219200000 && unix_ms <= 253402300799999)
        abort();
    timestamp_format(unix_ms, written);
    if (timestamp_parse(written, &unix_ms, &err) < 0 || back - unix_ms < 0 || back - unix_ms > 999)
        abort();
    return 0;
}
