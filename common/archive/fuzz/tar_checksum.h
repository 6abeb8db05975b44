/* SPDX-License-Identifier: Apache-2.0 */
/* Corrects checksums, so that inputs changed by a fuzzer are not rejected because of them. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_SIZE = 512 };

/* Corrects the checksum of every block that looks like a header. */
static inline void mend_checksums(uint8_t *tar, size_t size)
{
    for (size_t at = 0; at + BLOCK_SIZE <= size; at += BLOCK_SIZE) {
        uint8_t *block = tar + at;
        unsigned sum = 8 * ' ';

        if (memcmp(block + 257, "ustar", 5) != 0)
            continue;
        for (size_t i = 0; i < BLOCK_SIZE; i++)
            sum += i >= 148 && i < 156 ? 0 : block[i];
        (void)snprintf((char *)block + 148, 8, "%06o", sum & 0777777);
        block[155] = ' ';
    }
}
