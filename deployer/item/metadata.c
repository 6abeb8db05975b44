/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/item/metadata.h"

#include <string.h>

#include "common/base/number.h"
#include "common/data/doc.h"

const char *object_annotation(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, "metadata.annotations"), key));
}

const char *object_label(const json_t *object, const char *key)
{
    return json_string_value(doc_member(doc_get(object, "metadata.labels"), key));
}

uint64_t object_version(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), UINT64_MAX, &version);
    return version;
}

bool object_has_finalizer(const json_t *object, const char *finalizer)
{
    const json_t *finalizers = doc_get(object, "metadata.finalizers");
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(finalizers, i, entry)
    {
        const char *text = json_string_value(entry);

        if (text && strcmp(text, finalizer) == 0)
            return true;
    }
    return false;
}

json_t *object_other_finalizers(const json_t *object, const char *finalizer)
{
    const json_t *before = doc_get(object, "metadata.finalizers");
    json_t *after = json_array();
    json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach(before, i, entry)
    {
        const char *text = json_string_value(entry);

        if (text && strcmp(text, finalizer) != 0)
            (void)json_array_append(after, entry);
    }
    return after;
}
