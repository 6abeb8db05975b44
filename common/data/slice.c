/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/slice.h"

#include <string.h>

#include "common/data/lexer.h"

/* Reads the member whose key begins at `at`. Returns what follows it, or NULL. */
static const char *read_member(const char *at, const char *end, struct slice *ret_key,
                               struct slice *ret_value)
{
    const char *after = lexer_skip_value(at, end);

    if (!after)
        return NULL;
    *ret_key = (struct slice){at + 1, (size_t)(after - at) - 2};
    after = lexer_skip_space(after, end);
    if (after == end || *after != ':')
        return NULL;
    at = lexer_skip_space(after + 1, end);
    after = lexer_skip_value(at, end);
    if (after)
        *ret_value = (struct slice){at, (size_t)(after - at)};
    return after;
}

bool slice_member(struct slice object, const char *key, struct slice *ret_value)
{
    const char *end = object.text + object.size;
    const char *at = lexer_skip_space(object.text, end);
    size_t size = strlen(key);

    /* First behind the brace, then behind each comma. */
    for (char before = '{'; at < end && *at == before; before = ',') {
        struct slice found = {0}, value = {0};

        at = lexer_skip_space(at + 1, end);
        if (at == end || *at != '"')
            return false;
        at = read_member(at, end, &found, &value);
        if (!at)
            return false;
        if (found.size == size && memcmp(found.text, key, size) == 0) {
            *ret_value = value;
            return true;
        }
        at = lexer_skip_space(at, end);
    }
    return false;
}
