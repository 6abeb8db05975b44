/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: eight bytes of a text at a time, which is where most bytes of a document
 * pass. What is found is the high bit of a byte; see word_first(). */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD_EVERY_BYTE(value) (UINT64_C(0x0101010101010101) * (value))
#define WORD_HIGH_BITS WORD_EVERY_BYTE(0x80)

/* The text's first byte is the lowest. */
static inline uint64_t word_read(const char *text)
{
    uint64_t word = 0;

    memcpy(&word, text, sizeof(word));
    return le64toh(word);
}

/* Bytes below limit, which is at most 0x80. A byte borrows from the one above it only where its own
 * bit is set, so the lowest bit is always right; those above it may not be. */
static inline uint64_t word_below(uint64_t word, uint64_t limit)
{
    return (word - WORD_EVERY_BYTE(limit)) & ~word & WORD_HIGH_BITS;
}

static inline uint64_t word_equal(uint64_t word, uint64_t byte)
{
    return word_below(word ^ WORD_EVERY_BYTE(byte), 1);
}

/* The place of the first byte that was found; found is not 0. */
static inline size_t word_first(uint64_t found)
{
    return (size_t)__builtin_ctzll(found) / 8;
}
