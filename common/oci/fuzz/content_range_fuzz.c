/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of Content-Range: a parsed range is in order and within its total, and formatting it
 * gives the same text, except for leading zeros and the case of the unit. */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "common/oci/content_range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Removes leading zeros in place. */
static void drop_zeros(char *text)
{
    char *to = text;
    char before = '\0';

    for (const char *from = text; *from; from++) {
        if (*from == '0' && !strchr("0123456789", before) && strchr("0123456789", from[1]) &&
            from[1])
            continue;
        before = *from;
        *to++ = *from;
    }
    *to = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size);
    cleanup_free char *total = NULL;
    cleanup_free char *written = NULL;
    struct content_range range = {1, 1, 1};

    if (!content_range_parse(text, &range)) {
        must(range.first == 1 && range.last == 1 && range.total == 1);
        return 0;
    }
    must(range.first <= range.last && (range.total == 0 || range.last < range.total));
    total = range.total ? xasprintf("%" PRIu64, range.total) : xstrdup("*");
    written = xasprintf("bytes %" PRIu64 "-%" PRIu64 "/%s", range.first, range.last, total);
    drop_zeros(text);
    must(strcasecmp(written, text) == 0);
    return 0;
}
