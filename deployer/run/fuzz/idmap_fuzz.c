/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of /etc/subuid: the range is the first that a second implementation, a regular
 * expression, finds for this user; a suggested range overlaps none that it finds. */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/run/idmap.h"

enum { UID = 1000 };
#define EXPRESSION_OF(owner) "^(" owner "):([0-9]+):([0-9]+)$"
#define OF_ALICE EXPRESSION_OF("alice|0*1000")
#define OF_ANYBODY EXPRESSION_OF("[^:]*")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the line matches the expression and its numbers are ids. */
static bool read_line(const char *line, const char *expression, struct idmap_range *ret_range)
{
    regex_t pattern;
    regmatch_t parts[4] = {0};
    bool is_match = false;

    must(regcomp(&pattern, expression, REG_EXTENDED) == 0);
    is_match = regexec(&pattern, line, array_length(parts), parts, 0) == 0;
    regfree(&pattern);
    if (!is_match)
        return false;
    ret_range->first = strtoul(line + parts[2].rm_so, NULL, 10);
    ret_range->count = strtoul(line + parts[3].rm_so, NULL, 10);
    return ret_range->first <= UINT32_MAX && ret_range->count <= UINT32_MAX;
}

static bool find(const char *text, struct idmap_range *ret_range)
{
    cleanup_free char *copy = xstrdup(text);
    char *rest = NULL;

    for (const char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (read_line(line, OF_ALICE, ret_range) && ret_range->count >= IDMAP_NEEDED)
            return true;
    }
    return false;
}

static bool overlaps_any(const char *text, const struct idmap_range *range)
{
    cleanup_free char *copy = xstrdup(text);
    char *rest = NULL;

    for (const char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct idmap_range used = {0};

        if (read_line(line, OF_ANYBODY, &used) && used.first < range->first + range->count &&
            range->first < used.first + used.count)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < 2048 ? size : 2048);
    struct idmap_range range = {0}, expected = {0}, unused = {0};
    bool is_found = idmap_find_range(text, "alice", UID, &range);

    must(is_found == find(text, &expected));
    if (is_found)
        must(range.first == expected.first && range.count == expected.count);
    else
        must(range.count == 0);
    if (idmap_find_free_range(text, "", &unused))
        must(unused.count == IDMAP_NEEDED && !overlaps_any(text, &unused));
    return 0;
}
