/* SPDX-License-Identifier: Apache-2.0 */
/* jansson reads whole texts only. So the two levels above a list are walked here, and each value
 * below them, or element of a list, is a text of its own for jansson. */
#include "common/data/doc_lists_json.h"

#include <string.h>

#include "common/data/doc_scan.h"

struct reader {
    const char *text;
    size_t size;
    size_t at;
    const struct doc_lists *lists;
    const char *keys[2];
    size_t depth;  /* of objects that are open */
    size_t weight; /* of what is kept */
    struct error *err;
};

size_t doc_lists_find(const struct doc_lists *lists, const char *const keys[2])
{
    size_t i = 0;

    while (i < lists->count && (strcmp(lists->paths[i].keys[0], keys[0]) != 0 ||
                                strcmp(lists->paths[i].keys[1], keys[1]) != 0))
        i++;
    return i;
}

static int not_json(struct reader *reader)
{
    return error_set(reader->err, ERROR_INVALID, "byte %zu: not JSON", reader->at + 1);
}

/* The next letter that is no space; NUL at the end, which no JSON has. */
static char peek(struct reader *reader)
{
    while (reader->at < reader->size && reader->text[reader->at] &&
           strchr(" \t\r\n", reader->text[reader->at]))
        reader->at++;
    return reader->at < reader->size ? reader->text[reader->at] : '\0';
}

static bool take(struct reader *reader, char letter)
{
    if (peek(reader) != letter || !letter)
        return false;
    reader->at++;
    return true;
}

/* Where the string that begins at at ends. */
static size_t end_of_string(const struct reader *reader, size_t at)
{
    for (at++; at < reader->size && reader->text[at] != '"'; at++)
        at += reader->text[at] == '\\';
    return at < reader->size ? at + 1 : reader->size;
}

/* Moves behind the value that begins here and adds up its weight. Whether it is a value at all is
 * jansson's to say. */
static size_t pass_value(struct reader *reader)
{
    size_t weight = WEIGHT_SCALAR;
    size_t begin = reader->at;
    size_t depth = 0;

    while (reader->at < reader->size) {
        char letter = reader->text[reader->at];

        if (depth == 0 && reader->at > begin && (!letter || strchr(",]} \t\r\n", letter)))
            break;
        if (letter == '"') {
            reader->at = end_of_string(reader, reader->at);
        } else {
            weight += letter == '{'                    ? WEIGHT_OBJECT
                      : letter == '['                  ? WEIGHT_ARRAY
                      : letter == ',' || letter == ':' ? WEIGHT_SCALAR
                                                       : 0;
            depth += letter == '{' || letter == '[';
            depth -= depth > 0 && (letter == '}' || letter == ']');
            reader->at++;
        }
        if (depth == 0 && strchr("}]\"", letter))
            break;
    }
    return weight + reader->at - begin;
}

static int too_large(struct reader *reader, size_t at)
{
    size_t line = 1;
    size_t line_start = 0;

    for (size_t i = 0; i < at; i++) {
        if (reader->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    return error_set(reader->err, ERROR_TOO_LARGE, "line %zu, column %zu: " DOC_LISTS_TOO_LARGE,
                     line, at - line_start + 1);
}

static int read_whole(struct reader *reader, json_t **ret_value, size_t *ret_weight)
{
    size_t begin = 0;

    (void)peek(reader);
    begin = reader->at;
    *ret_weight = pass_value(reader);
    if (*ret_weight > reader->lists->tree_max_bytes - reader->weight)
        return too_large(reader, begin);
    return doc_parse_json_within(reader->text + begin, reader->at - begin,
                                 DOC_DEPTH_MAX - reader->depth, ret_value, reader->err);
}

static int read_list(struct reader *reader, size_t list, json_t **ret_value)
{
    bool is_more = !take(reader, ']');

    reader->depth++;
    while (is_more) {
        cleanup_json json_t *element = NULL;
        size_t weight = 0;

        if (read_whole(reader, &element, &weight) < 0)
            return -1;
        reader->lists->on_element(reader->lists->data, list, element);
        is_more = take(reader, ',');
        if (!is_more && !take(reader, ']'))
            return not_json(reader);
    }
    reader->depth--;
    *ret_value = json_array();
    return 0;
}

static int read_object(struct reader *reader, json_t **ret_value);

static int read_value(struct reader *reader, json_t **ret_value)
{
    size_t weight = 0;
    size_t list = reader->lists->count;

    if (reader->depth < array_length(reader->keys) && take(reader, '{'))
        return read_object(reader, ret_value);
    if (reader->depth == array_length(reader->keys))
        list = doc_lists_find(reader->lists, reader->keys);
    if (list < reader->lists->count && take(reader, '['))
        return read_list(reader, list, ret_value);
    if (read_whole(reader, ret_value, &weight) < 0)
        return -1;
    reader->weight += weight;
    return 0;
}

static int read_member(struct reader *reader, json_t *object)
{
    cleanup_json json_t *key = NULL;
    json_t *value = NULL;
    size_t weight = 0;

    if (peek(reader) != '"')
        return not_json(reader);
    if (read_whole(reader, &key, &weight) < 0)
        return -1;
    reader->weight += weight;
    if (json_object_get(object, json_string_value(key)) || !take(reader, ':'))
        return not_json(reader);
    reader->keys[reader->depth - 1] = json_string_value(key);
    if (read_value(reader, &value) < 0)
        return -1;
    (void)json_object_set_new_nocheck(object, json_string_value(key), value);
    return 0;
}

/* Behind its brace. */
static int read_object(struct reader *reader, json_t **ret_value)
{
    cleanup_json json_t *object = json_object();
    bool is_more = !take(reader, '}');

    reader->depth++;
    while (is_more) {
        if (read_member(reader, object) < 0)
            return -1;
        is_more = take(reader, ',');
        if (!is_more && !take(reader, '}'))
            return not_json(reader);
    }
    reader->depth--;
    *ret_value = json_incref(object);
    return 0;
}

int doc_lists_read_json(const char *text, size_t size, const struct doc_lists *lists,
                        json_t **ret_doc, struct error *err)
{
    struct reader reader = {.text = text, .size = size, .lists = lists, .err = err};
    cleanup_json json_t *doc = NULL;

    lists->on_begin(lists->data);
    if (read_value(&reader, &doc) < 0)
        return -1;
    if (peek(&reader) || reader.at < size)
        return not_json(&reader);
    *ret_doc = json_incref(doc);
    return 0;
}
