/* SPDX-License-Identifier: Apache-2.0 */
/* Property: names and label values derived from any name are valid and not too long. Input: a
 * limit, then namespace, name and suffix, each NUL-terminated. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/names.h"
#include "common/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_dns_label(const char *name)
{
    return strlen(name) <= NAME_MAX_LABEL && !strchr(name, '.') && name_is_dns_subdomain(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t max = size > 0 ? data[0] : 0;
    cleanup_free char *text = xcalloc(size + 3, 1);
    const char *namespace_name = text;
    const char *name = NULL;
    const char *suffix = NULL;
    cleanup_free char *made = NULL;
    cleanup_free char *again = NULL;
    cleanup_free char *value = NULL;

    if (size > 1)
        memcpy(text, data + 1, size - 1);
    name = namespace_name + strlen(namespace_name) + 1;
    if (name > text + size)
        name = text + size;
    suffix = name + strlen(name) + 1;
    if (suffix > text + size)
        suffix = text + size;

    made = name_make(namespace_name, name, suffix, max);
    must(is_dns_label(made));
    must(max == 0 || strlen(made) <= max);
    again = name_make(namespace_name, name, suffix, max);
    must(strcmp(made, again) == 0);
    value = name_label_value(name);
    must(name_is_label_value(value));
    must(!name_is_label_value(name) || strcmp(value, name) == 0);
    must(!is_dns_label(name) || name_is_label_value(name));
    (void)name_is_label_key(name);
    return 0;
}
