/* SPDX-License-Identifier: Apache-2.0 */
/* What the browser loads: one HTML document with its style and script, which is part of the
 * program. It is the same for every command; what it shows comes from the API. */
#pragma once

#include <stddef.h>

#include "common/base/buffer.h"

struct document {
    const char *text; /* not NUL-terminated */
    size_t size;
    struct buffer packed; /* gzip of the text */
    /* The Content-Security-Policy: nothing but this style and this script, by their hashes, and
     * requests to the same server. */
    char *policy;
};

void document_init(struct document *document);
void document_done(struct document *document); /* also for zeroed memory */
