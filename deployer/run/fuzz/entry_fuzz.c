/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an interpreter is a part of the input, of printable characters (but for a carriage
 * return at its end) and of limited length. Input: the beginning of an executable file. */
#include "deployer/run/entry.h"

#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_script = false;
    cleanup_free char *found = entry_interpreter((const char *)data, size, &is_script);
    size_t length = found ? strlen(found) : 0;

    must(!is_script || memcmp(data, "#!", 2) == 0);
    if (!found)
        return 0;
    must(length > 0 && length <= 256 && memmem(data, size, found, length));
    for (size_t i = 0; i < length; i++)
        must((found[i] > ' ' && found[i] <= '~') || (found[i] == '\r' && i + 1 == length));
    return 0;
}
