/* SPDX-License-Identifier: Apache-2.0 */
/* Names and versions of the component model. Property: each is valid if and only if it matches the
 * regular expression of the model. The tag of a version has no "+". */
#include <regex.h>
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/component/component_name.h"
#include "common/fuzz/must.h"

#define WORD "[a-z][-a-z0-9]*"
#define SEGMENT_WORD "[a-z][-_a-z0-9]*"
#define IDENTIFIERS "[a-zA-Z0-9-]+([.][a-zA-Z0-9-]+)*"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Compiled once, never freed. */
static bool matches(regex_t *pattern, bool *is_compiled, const char *expression, const char *text)
{
    if (!*is_compiled)
        must(regcomp(pattern, expression, REG_EXTENDED | REG_NOSUB) == 0);
    *is_compiled = true;
    return regexec(pattern, text, 0, NULL, 0) == 0;
}

static bool is_match(size_t which, const char *text)
{
    static const char *const expressions[] = {
        "^" WORD "([.]" WORD ")*[.][a-z][a-z]+(/" SEGMENT_WORD "([.]" SEGMENT_WORD ")*)+$",
        "^[a-z0-9]([-_+a-z0-9]*)[a-z0-9]$",
        "^v?[0-9]+([.][0-9]+([.][0-9]+)?)?(-" IDENTIFIERS ")?([+]" IDENTIFIERS ")?$",
    };
    static regex_t patterns[array_length(expressions)];
    static bool are_compiled[array_length(expressions)];

    return matches(&patterns[which], &are_compiled[which], expressions[which], text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Longer ones are rejected by length, and regular expressions are slow. */
    cleanup_free char *text = xstrndup((const char *)data, size < 300 ? size : 300);
    bool is_short = strlen(text) <= COMPONENT_NAME_MAX_BYTES;
    cleanup_free char *tag = version_tag(text);

    must(component_name_is_valid(text) == (is_short && is_match(0, text)));
    must(element_name_is_valid(text) == is_match(1, text));
    must(version_is_valid(text) == (is_short && is_match(2, text)));
    if (version_is_valid(text)) {
        const char *plus = strchr(text, '+');
        size_t start = plus ? (size_t)(plus - text) : strlen(text);

        must(!strchr(tag, '+') && strncmp(tag, text, start) == 0);
        must(strlen(tag) == strlen(text) + (plus ? strlen(".build-") - 1 : 0));
    }
    return 0;
}
