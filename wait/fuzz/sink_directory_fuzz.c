/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a name in the local store: the parsed sequence has a valid successor, and the name
 * is that of a generation with this sequence. */
#include <inttypes.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/state/generation.h"
#include "wait/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *name = xstrndup((const char *)data, size);
    cleanup_free char *written = NULL;
    int64_t sequence = sink_directory_sequence(name);

    if (sequence == 0)
        return 0;
    written = xasprintf("%" PRId64 "-", sequence);
    if (sequence < 0 || sequence > STATE_SEQUENCE_MAX ||
        strncmp(name + strspn(name, "0"), written, strlen(written)) != 0)
        abort();
    return 0;
}
