/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents of the tests of common/apply. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/data/doc.h"

/* Parses JSON in which ' stands for ", so that the tables stay readable. A new reference. */
static inline json_t *parse(const char *text)
{
    struct error err = {0};
    json_t *doc = NULL;
    char quoted[20000] = "";

    assert_true(strlen(text) < sizeof(quoted));
    for (size_t i = 0; text[i]; i++)
        quoted[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    if (doc_parse_json(quoted, strlen(quoted), sizeof(quoted), &doc, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return doc;
}
