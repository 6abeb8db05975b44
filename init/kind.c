/* SPDX-License-Identifier: Apache-2.0 */
#include "init/kind.h"

#include <string.h>

#include "common/data/doc.h"

static int check_member(const json_t *doc, const char *key, const char *expected, struct error *err)
{
    const char *text = NULL;

    if (doc_want_text(doc, key, &text, err) < 0)
        return -1;
    if (text && strcmp(text, expected) != 0)
        return error_set(err, ERROR_INVALID, "%s: expected \"%s\", found \"%.100s\"", key, expected,
                         text);
    return 0;
}

int kind_check(const json_t *doc, const char *api_version, const char *kind, struct error *err)
{
    if (check_member(doc, "apiVersion", api_version, err) < 0)
        return -1;
    return check_member(doc, "kind", kind, err);
}
