/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in words: the text is that of a second expansion, written after the one of Kubernetes
 * (third_party/forked/golang/expansion). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "deployer/run/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char a[] = "A=one", b[] = "LONG_NAME=$(A)", c[] = "E=";
static char *const environment[] = {a, b, c, NULL};

static const char *value_of(const char *name, size_t length)
{
    for (char *const *item = environment; *item; item++) {
        if (strcspn(*item, "=") == length && memcmp(*item, name, length) == 0)
            return *item + length + 1;
    }
    return NULL;
}

/* What stands behind a '$': appends its meaning to out and returns how much of text it is. */
static size_t expand_one(const char *text, char *out)
{
    const char *end = *text == '(' ? strchr(text, ')') : NULL;
    const char *value = end ? value_of(text + 1, (size_t)(end - text - 1)) : NULL;
    size_t length = end ? (size_t)(end - text + 1) : 1;

    if (value) {
        (void)strcat(out, value);
        return length;
    }
    if (*text != '$')
        (void)strcat(out, "$");
    (void)strncat(out, text, length);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < 4096 ? size : 4096);
    /* "$(A)" is the longest value, of a name that is longer. */
    cleanup_free char *expected = xcalloc(strlen(text) * 2 + 1, 1);
    cleanup_free char *expanded = spec_expand(environment, text);

    for (const char *at = text; *at;) {
        if (*at == '$' && at[1])
            at += 1 + expand_one(at + 1, expected + strlen(expected));
        else
            (void)strncat(expected, at++, 1);
    }
    if (strcmp(expected, expanded ? expanded : "") != 0)
        abort();
    return 0;
}
