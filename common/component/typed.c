/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/typed.h"

#include <string.h>
#include <strings.h>

#include "common/data/doc.h"

bool typed_is(const json_t *object, const char *const *types)
{
    const char *type = typed_text(object, "type");

    for (; type && *types; types++) {
        size_t length = strlen(*types);

        if (strncmp(type, *types, length) == 0 &&
            (type[length] == '\0' || strcmp(type + length, "/v1") == 0))
            return true;
    }
    return false;
}

const json_t *typed_member(const json_t *object, const char *key)
{
    const json_t *exact = doc_member(object, key);
    const char *name = NULL;
    json_t *value = NULL;

    if (exact || !json_is_object(object))
        return exact;
    doc_foreach(object, name, value)
    {
        if (strcasecmp(name, key) == 0)
            return value;
    }
    return NULL;
}

const char *typed_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(typed_member(object, key));

    return text && *text ? text : NULL;
}

bool text_is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, list[i]) == 0)
            return true;
    }
    return false;
}
