/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes of a blob an answer (206) carries: "bytes FIRST-LAST/TOTAL" (RFC 9110, 14.4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct content_range {
    uint64_t first, last; /* both belong to it */
    uint64_t total;       /* 0: the server does not know ("*") */
};

/* False for anything else, also for a range that ends before it begins or past the total. */
bool content_range_parse(const char *text, struct content_range *ret_range);
