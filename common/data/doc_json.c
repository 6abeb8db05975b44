/* SPDX-License-Identifier: Apache-2.0 */
/* Writes documents as JSON. */
#include "common/data/doc.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc_writer.h"

static bool is_plain(uint32_t code)
{
    return code >= 0x20;
}

static void put_string(struct doc_writer *out, const char *text, size_t size)
{
    doc_put_quoted(out, text, size, is_plain);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char **sorted_keys(const json_t *object)
{
    const char **keys = xcalloc(json_object_size(object), sizeof(*keys));
    const char *key = NULL;
    const json_t *value = NULL;
    size_t count = 0;

    doc_foreach(object, key, value)
    {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    return keys;
}

static void put_value(struct doc_writer *out, const json_t *value, bool is_sorted);

static void put_member(struct doc_writer *out, const char *key, const json_t *value, bool is_sorted,
                       size_t index)
{
    if (index > 0)
        doc_put_letter(out, ',');
    put_string(out, key, strlen(key));
    doc_put_letter(out, ':');
    put_value(out, value, is_sorted);
}

static void put_sorted_members(struct doc_writer *out, const json_t *object)
{
    cleanup_free const char **keys = sorted_keys(object);

    for (size_t i = 0; i < json_object_size(object); i++)
        put_member(out, keys[i], json_object_get(object, keys[i]), true, i);
}

static void put_members(struct doc_writer *out, const json_t *object)
{
    const char *key = NULL;
    const json_t *value = NULL;
    size_t index = 0;

    doc_foreach(object, key, value)
    {
        put_member(out, key, value, false, index++);
    }
}

static void put_object(struct doc_writer *out, const json_t *object, bool is_sorted)
{
    doc_put_letter(out, '{');
    if (is_sorted)
        put_sorted_members(out, object);
    else
        put_members(out, object);
    doc_put_letter(out, '}');
}

static void put_array(struct doc_writer *out, const json_t *array, bool is_sorted)
{
    doc_put_letter(out, '[');
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i > 0)
            doc_put_letter(out, ',');
        put_value(out, json_array_get(array, i), is_sorted);
    }
    doc_put_letter(out, ']');
}

static void put_value(struct doc_writer *out, const json_t *value, bool is_sorted)
{
    if (json_is_object(value))
        put_object(out, value, is_sorted);
    else if (json_is_array(value))
        put_array(out, value, is_sorted);
    else if (json_is_string(value))
        put_string(out, json_string_value(value), json_string_length(value));
    else
        doc_put_simple(out, value);
}

/* Not json_dumps(), which writes 0.1 as 0.10000000000000001. */
static char *dump(const json_t *doc, bool is_sorted)
{
    struct doc_writer out = {0};
    char *text = NULL;

    doc_writer_init(&out);
    put_value(&out, doc, is_sorted);
    text = doc_writer_take(&out);
    /* Thousands of requests may wait, and the buffer may be twice as large. */
    return xreallocarray(text, strlen(text) + 1, 1);
}

char *doc_dump(const json_t *doc)
{
    return dump(doc, false);
}

char *doc_dump_sorted(const json_t *doc)
{
    return dump(doc, true);
}
