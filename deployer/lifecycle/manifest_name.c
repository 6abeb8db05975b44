/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/manifest_name.h"

#include <stdint.h>
#include <string.h>

#include "common/base/memory.h"

/* FNV-1, 32 bits. */
static uint32_t hash_more(uint32_t hash, const char *text)
{
    for (; *text; text++) {
        hash *= 16777619U;
        hash ^= (unsigned char)*text;
    }
    return hash;
}

static const uint32_t hash_start = 2166136261U;

/* Cuts text to at most max characters and never ends with a character that a name cannot contain
 * before "-". */
static char *shortened(const char *text, size_t max)
{
    size_t length = strnlen(text, max);

    while (length > 0 && (text[length - 1] == '-' || text[length - 1] == '.'))
        length--;
    return xstrndup(text, length);
}

char *manifest_name(const char *kyma, const char *component, const char *module)
{
    const char *slash = strrchr(component, '/');
    const char *last_part = slash ? slash + 1 : component;
    cleanup_free char *hash = xasprintf("%u", hash_more(hash_more(hash_start, component), module));
    cleanup_free char *name = xasprintf("%s-%s-%s", kyma, last_part, hash);
    size_t fixed = strlen(kyma) + strlen(hash) + strlen("--");

    if (strlen(name) <= MANIFEST_NAME_MAX)
        return steal(&name);
    if (fixed < MANIFEST_NAME_MAX) {
        cleanup_free char *middle = shortened(last_part, MANIFEST_NAME_MAX - fixed);

        return *middle ? xasprintf("%s-%s-%s", kyma, middle, hash) : xasprintf("%s-%s", kyma, hash);
    }
    cleanup_free char *kyma_hash = xasprintf("%u", hash_more(hash_start, kyma));
    cleanup_free char *start =
        shortened(kyma, MANIFEST_NAME_MAX - strlen(kyma_hash) - strlen(hash) - strlen("--"));

    return xasprintf("%s-%s-%s", start, kyma_hash, hash);
}
