/* SPDX-License-Identifier: Apache-2.0 */
#include "common/oci/content_range.h"

#include <string.h>
#include <strings.h>

#include "common/base/number.h"

/* Reads a number followed by letter; text moves past both. */
static bool read_before(const char **text, char letter, uint64_t *ret_number)
{
    size_t length = number_scan(*text, UINT64_MAX, ret_number);

    if (length == 0 || (*text)[length] != letter)
        return false;
    *text += length + 1;
    return true;
}

bool content_range_parse(const char *text, struct content_range *ret_range)
{
    static const char unit[] = "bytes ";
    struct content_range range = {0};

    if (strncasecmp(text, unit, strlen(unit)) != 0)
        return false;
    text += strlen(unit);
    if (!read_before(&text, '-', &range.first) || !read_before(&text, '/', &range.last) ||
        range.last < range.first)
        return false;
    if (strcmp(text, "*") != 0 &&
        (!number_parse(text, UINT64_MAX, &range.total) || range.total <= range.last))
        return false;
    *ret_range = range;
    return true;
}
