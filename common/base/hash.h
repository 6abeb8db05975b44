/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes for tables in memory (FNV-1a). Whoever chooses the texts can make them collide, which
 * makes look-ups slower and nothing else. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_FIRST 2166136261u

/* The hash of what was hashed before, HASH_FIRST for nothing, and of these bytes. */
static inline uint32_t hash_bytes(uint32_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

static inline uint32_t hash_text(const char *text)
{
    return hash_bytes(HASH_FIRST, text, strlen(text));
}
