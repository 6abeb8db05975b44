/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/subuid: the range is the first that a second reader, with a regular expression, finds for
 * this user. */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/run/idmap.h"

enum { UID = 1000, NEEDED = 65536 };
#define EXPRESSION "^(alice|0*1000):([0-9]+):([0-9]+)$"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether the line is a range for alice; a line longer than any is not one. */
static bool read_line(const char *line, struct idmap_range *ret_range)
{
    static regex_t pattern;
    static bool is_compiled;
    regmatch_t parts[4] = {0};

    if (!is_compiled)
        must(regcomp(&pattern, EXPRESSION, REG_EXTENDED) == 0);
    is_compiled = true;
    if (regexec(&pattern, line, array_length(parts), parts, 0) != 0)
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
        if (read_line(line, ret_range) && ret_range->count >= NEEDED)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < 2048 ? size : 2048);
    struct idmap_range range = {0}, expected = {0};
    struct error err = {0};
    bool is_found = idmap_find_range(text, "alice", UID, NEEDED, &range, &err) == 0;

    must(is_found == find(text, &expected));
    if (is_found)
        must(range.first == expected.first && range.count == expected.count);
    else
        must(err.kind == ERROR_NOT_FOUND && range.count == 0);
    return 0;
}
