/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a token server's response: an accepted token is valid in a header and not longer
 * than the response; its lifetime is within the limits. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/oci/auth.h"

enum { LIFE_LEAST_MS = 60 * 1000, LIFE_MOST_MS = 24 * 3600 * 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *token = NULL;
    uint64_t life_ms = 0;
    struct error err = {0};

    doc_setup();
    if (auth_parse_token((const char *)data, size, &token, &life_ms, &err) < 0) {
        must(!token && err.text[0] && (err.kind == ERROR_INVALID || err.kind == ERROR_TOO_LARGE));
        return 0;
    }
    must(*token && strlen(token) < size);
    for (const char *at = token; *at; at++)
        must(*at > ' ' && *at <= '~');
    must(life_ms >= LIFE_LEAST_MS && life_ms <= LIFE_MOST_MS);
    return 0;
}
