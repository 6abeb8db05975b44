/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the name, what is made of it is legal and fits. Input: a limit, then namespace, name and
 * suffix, each ended by a NUL. */
#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool is_true)
{
    if (!is_true)
        abort();
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
    insist(name_is_dns_label(made));
    insist(max == 0 || strlen(made) <= max);
    again = name_make(namespace_name, name, suffix, max);
    insist(strcmp(made, again) == 0);
    value = name_label_value(name);
    insist(name_is_label_value(value));
    insist(!name_is_label_value(name) || strcmp(value, name) == 0);
    /* A label is a subdomain, and what is a subdomain of a label's length is a label's value. */
    insist(!name_is_dns_label(name) || name_is_dns_subdomain(name));
    insist(!name_is_dns_label(name) || name_is_label_value(name));
    (void)name_is_label_key(name);
    return 0;
}
