/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: spec_expand() agrees with a second implementation that follows Kubernetes
 * (third_party/forked/golang/expansion); a quantity of memory is rounded up, or refused if it is
 * too large. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/fuzz/must.h"
#include "deployer/run/spec.h"
#include "deployer/validation/quantity.h"

enum { TEXT_MAX = 4096 };

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

static void append(struct buffer *out, const char *text, size_t length)
{
    struct error err = {0};

    must(buffer_append(out, text, length, &err) == 0);
}

/* Appends the expansion of text, which follows a '$', and returns how many bytes it used. */
static size_t expand_one(const char *text, struct buffer *out)
{
    const char *end = *text == '(' ? strchr(text, ')') : NULL;
    const char *value = end ? value_of(text + 1, (size_t)(end - text - 1)) : NULL;
    size_t length = end ? (size_t)(end - text + 1) : 1;

    if (value) {
        append(out, value, strlen(value));
        return length;
    }
    if (*text != '$')
        append(out, "$", 1);
    append(out, text, length);
    return length;
}

static void check_expand(const char *text)
{
    cleanup_buffer struct buffer expected = {0};
    cleanup_free char *expanded = spec_expand(environment, text);

    buffer_init(&expected, 2 * TEXT_MAX);
    for (const char *at = text; *at;) {
        if (*at == '$' && at[1])
            at += 1 + expand_one(at + 1, &expected);
        else
            append(&expected, at++, 1);
    }
    must(strcmp(expected.data ? expected.data : "", expanded) == 0);
}

static void check_memory(const char *text)
{
    int64_t bytes = spec_memory_bytes(text);
    long double amount = 0;
    bool is_quantity = quantity_parse(text, &amount);

    if (bytes < 0)
        must(bytes == -1 && (!is_quantity || amount >= 9223372036854775807.0L));
    else
        must(is_quantity && (long double)bytes >= amount && (long double)(bytes - 1) < amount);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);

    check_expand(text);
    check_memory(text);
    return 0;
}
