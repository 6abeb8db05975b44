/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: one text of several parts, for people: the first five, and how many more
 * there are. */
#pragma once

#include "common/base/buffer.h"

enum { SUMMARY_PARTS_MAX = 5, SUMMARY_PART_SIZE = 1200 };

/* To be initialised with {0}. */
struct summary {
    struct buffer text;
    size_t count;
};

void summary_add(struct summary *summary, const char *format, ...) printf_like(2, 3);
/* "a; b; and 3 more". NULL: nothing was added. Belongs to the caller; the summary is empty then. */
char *summary_take(struct summary *summary);
