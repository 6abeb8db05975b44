/* SPDX-License-Identifier: Apache-2.0 */
/* Parses Content-Range of a 206 response: "bytes FIRST-LAST/TOTAL" (RFC 9110, 14.4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct content_range {
    uint64_t first, last; /* inclusive */
    uint64_t total;       /* 0: unknown ("*") */
};

/* False if text is malformed, or the range is reversed or exceeds the total. */
bool content_range_parse(const char *text, struct content_range *ret_range);
