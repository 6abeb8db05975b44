/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for tests. */
#pragma once

#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"

/* A token with this payload, in base64url. Belongs to the caller. */
static inline char *token_with(const char *payload)
{
    cleanup_free char *encoded = base64_encode(payload, strlen(payload));

    for (char *c = encoded; *c; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c);
    return xasprintf("eyJhbGciOiJub25lIn0.%s.signature", encoded);
}
