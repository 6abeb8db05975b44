/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, which are part of the program. */
#pragma once

#include <stddef.h>

struct page_file {
    const char *name; /* "" is the page itself */
    const char *content_type;
    const unsigned char *data;
    size_t size;
};

/* NULL: no such file. */
const struct page_file *page_file_find(const char *name);
