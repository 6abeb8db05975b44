/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as programs write it is read by doc_quick.h; all other by jansson, behind a pass of our own
 * over the text (doc_scan.h). jansson's own messages
 * quote the text, which may be a secret: ours are made from its codes. */
#include "common/data/doc.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc_quick.h"
#include "common/data/doc_scan.h"
#include "common/data/doc_writer.h"
#include "common/data/slice.h"

static const char *explain(enum json_error_code code)
{
    switch ((int)code) {
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_premature_end_of_input:
        return "the text ends too early";
    case json_error_end_of_input_expected:
        return "something follows the end of the document";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "NUL characters are not allowed";
    case json_error_duplicate_key:
        return "a key appears twice in one object";
    case json_error_numeric_overflow:
        return "a number is too large";
    default:
        return "not JSON";
    }
}

static int parse(const char *text, size_t size, size_t max_bytes, struct doc_scan *scan,
                 json_t **ret_doc, struct error *err)
{
    cleanup_free char *edited = NULL;
    json_error_t fault = {0};
    json_t *doc = NULL;

    if (size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of JSON", max_bytes);
    if (size == 0)
        return error_set(err, ERROR_INVALID, "line 1, column 1: the text is empty");
    doc = doc_quick_read(text, size, scan->depth_max, NULL);
    if (!doc) {
        if (doc_scan_run(scan, err) < 0)
            return -1;
        edited = doc_scan_edited(scan, &size);
        doc = json_loadb(edited ? edited : text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                         &fault);
    }
    if (!doc)
        return error_set(err, ERROR_INVALID, "line %d, column %d: %s", fault.line, fault.column,
                         explain(json_error_code(&fault)));
    *ret_doc = doc;
    return 0;
}

int doc_parse_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err)
{
    cleanup_scan struct doc_scan scan = {0};

    doc_scan_init(&scan, text, size, DOC_DEPTH_MAX, false);
    return parse(text, size, max_bytes, &scan, ret_doc, err);
}

int doc_parse_json_within(const char *text, size_t size, size_t depth_max, json_t **ret_doc,
                          struct error *err)
{
    cleanup_scan struct doc_scan scan = {0};

    doc_scan_init(&scan, text, size, depth_max, false);
    return parse(text, size, size, &scan, ret_doc, err);
}

int doc_parse_json_without(const char *text, size_t size, size_t max_bytes,
                           const char *const *left_out, json_t **ret_doc, struct error *err)
{
    const struct slice whole = {text, size};
    cleanup_free char *shorter = NULL;
    json_t *doc = NULL;

    if (left_out && size <= max_bytes)
        doc = doc_quick_read(text, size, DOC_DEPTH_MAX, left_out);
    if (doc) {
        *ret_doc = doc;
        return 0;
    }
    if (left_out)
        shorter = slice_without(whole, left_out, &size);
    return doc_parse_json(shorter ? shorter : text, size, max_bytes, ret_doc, err);
}

int doc_parse_json_lenient(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                           bool *ret_is_mended, struct error *err)
{
    cleanup_scan struct doc_scan scan = {0};

    doc_scan_init(&scan, text, size, DOC_DEPTH_MAX, true);
    if (parse(text, size, max_bytes, &scan, ret_doc, err) < 0)
        return -1;
    *ret_is_mended = scan.is_mended;
    return 0;
}

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

/* jansson's own writer prints 0.1 as 0.10000000000000001, and exports are read by people. */
static char *dump(const json_t *doc, bool is_sorted)
{
    struct doc_writer out = {0};

    doc_writer_init(&out);
    put_value(&out, doc, is_sorted);
    return doc_writer_take(&out);
}

char *doc_dump(const json_t *doc)
{
    return dump(doc, false);
}

char *doc_dump_sorted(const json_t *doc)
{
    return dump(doc, true);
}
