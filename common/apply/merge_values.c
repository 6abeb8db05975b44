/* SPDX-License-Identifier: Apache-2.0 */
/* Merging, comparing and hashing of JSON values, whatever they mean. */
#include <string.h>

#include "common/apply/merge.h"
#include "common/base/memory.h"
#include "common/data/digest.h"
#include "common/data/doc.h"
#include "common/jsonpath/value.h"

static bool is_empty(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return json_object_size(value) == 0;
    case JSON_ARRAY:
        return json_array_size(value) == 0;
    case JSON_STRING:
        return json_string_length(value) == 0;
    case JSON_INTEGER:
        return json_integer_value(value) == 0;
    case JSON_REAL:
        return json_real_value(value) == 0;
    case JSON_TRUE:
        return false;
    case JSON_FALSE:
    case JSON_NULL:
        return true;
    }
    return true;
}

/* live is changed. */
static void merge_members(json_t *live, const json_t *manifest, bool is_overwriting)
{
    const char *key = NULL;
    json_t *wanted = NULL;

    doc_foreach(manifest, key, wanted)
    {
        json_t *present = json_object_get(live, key);

        if (json_is_object(present) && json_is_object(wanted))
            merge_members(present, wanted, is_overwriting);
        else if (!present || is_overwriting || (is_empty(present) && !json_is_null(wanted)))
            (void)json_object_set_new_nocheck(live, key, json_deep_copy(wanted));
    }
}

json_t *merge_objects(const json_t *live, const json_t *manifest, bool is_overwriting)
{
    json_t *merged = json_deep_copy(live);

    merge_members(merged, manifest, is_overwriting);
    return merged;
}

/* A member that is null counts as missing. */
static const json_t *member_or_null(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

static bool has_equal_members(const json_t *a, const json_t *b)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(a, key, value)
    {
        const json_t *other = member_or_null(b, key);

        if (!json_is_null(value) && (!other || !merge_is_equal(value, other)))
            return false;
    }
    doc_foreach(b, key, value)
    {
        if (!json_is_null(value) && !member_or_null(a, key))
            return false;
    }
    return true;
}

bool merge_is_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return value_compare_numbers(a, b) == 0;
    if (json_is_object(a) && json_is_object(b))
        return has_equal_members(a, b);
    if (json_is_array(a) && json_is_array(b)) {
        if (json_array_size(a) != json_array_size(b))
            return false;
        for (size_t i = 0; i < json_array_size(a); i++) {
            if (!merge_is_equal(json_array_get(a, i), json_array_get(b, i)))
                return false;
        }
        return true;
    }
    return json_equal(a, b);
}

static json_t *patch_members(const json_t *from, const json_t *to)
{
    json_t *patch = json_object();
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(from, key, value)
    {
        if (!json_is_null(value) && !member_or_null(to, key))
            (void)json_object_set_new_nocheck(patch, key, json_null());
    }
    doc_foreach(to, key, value)
    {
        const json_t *present = member_or_null(from, key);
        json_t *change = NULL;

        if (json_is_null(value))
            continue;
        change = present ? merge_patch_between(present, value) : json_deep_copy(value);
        if (change)
            (void)json_object_set_new_nocheck(patch, key, change);
    }
    return patch;
}

json_t *merge_patch_between(const json_t *from, const json_t *to)
{
    if (merge_is_equal(from, to))
        return NULL;
    if (json_is_object(from) && json_is_object(to))
        return patch_members(from, to);
    return json_deep_copy(to);
}

char *merge_hash(const json_t *value)
{
    char hex[DIGEST_HEX_MAX] = "";
    cleanup_free char *text = doc_dump_sorted(value);

    digest_sha256_hex(text, strlen(text), hex);
    return xstrndup(hex, 16);
}
