/* SPDX-License-Identifier: Apache-2.0 */
/* Property: a parsed duration is formatted in at most 32 bytes, which parse to the same value. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/duration.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    char written[32] = {0};
    struct error err = {0};
    int64_t ns = 0;
    int64_t back = 0;

    if (duration_parse(text, &ns, &err) < 0)
        return 0;
    duration_format(ns, written, sizeof(written));
    if (duration_parse(written, &back, &err) < 0 || back != ns)
        abort();
    return 0;
}
