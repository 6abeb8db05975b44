/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_quick.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/digit.h"
#include "common/base/utf8.h"
#include "common/data/doc.h"
#include "common/data/plain.h"
#include "common/data/slice.h"

struct reader {
    const char *at, *end;
    struct buffer unescaped; /* the last string that had an escape */
    size_t depth_left;
    const char *const *left_out;
};

/* parent: the key of the object if its members may be left out, empty at the top; else NULL. */
static json_t *read_value(struct reader *reader, const struct slice *parent);

static char look(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

/* The next letter that is no space; '\0' at the end. */
static char next(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\t' || *reader->at == '\r'))
        reader->at++;
    return look(reader);
}

static bool skip(struct reader *reader, char letter)
{
    if (look(reader) != letter)
        return false;
    reader->at++;
    return true;
}

/* Goes past all that stands for itself. False: not UTF-8, or a control character. */
static bool skip_plain(struct reader *reader)
{
    for (;;) {
        unsigned char byte = 0;
        uint32_t code = 0;
        size_t length = 1;

        reader->at += plain_length(reader->at, (size_t)(reader->end - reader->at));
        if (reader->at == reader->end)
            return false;
        byte = (unsigned char)*reader->at;
        if (byte == '"' || byte == '\\')
            return true;
        if (byte < 0x20)
            return false;
        if (byte >= 0x80)
            length = utf8_decode(reader->at, (size_t)(reader->end - reader->at), &code);
        if (length == 0)
            return false;
        reader->at += length;
    }
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Go writes \u003c for '<'. What is no ASCII is not escaped by anybody. */
static char read_code(struct reader *reader)
{
    int high = 0;
    int low = 0;

    if (reader->end - reader->at < 4 || memcmp(reader->at, "00", 2) != 0)
        return '\0';
    high = hex_value(reader->at[2]);
    low = hex_value(reader->at[3]);
    reader->at += 4;
    if (high < 0 || high > 7 || low < 0)
        return '\0';
    return (char)(high << 4 | low);
}

/* What an escape stands for; '\0': not one of ours. */
static char read_escape(struct reader *reader)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char letter = look(reader);
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (letter)
        reader->at++;
    if (letter == 'u')
        return read_code(reader);
    return found ? meanings[found - letters] : '\0';
}

static bool read_escaped(struct reader *reader, const char *start, struct slice *ret_string)
{
    struct error ignored = {0};

    buffer_clear(&reader->unescaped);
    while (look(reader) == '\\') {
        char meaning = '\0';

        if (buffer_append(&reader->unescaped, start, (size_t)(reader->at - start), &ignored) < 0)
            return false;
        reader->at++;
        meaning = read_escape(reader);
        start = reader->at;
        if (!meaning || buffer_append(&reader->unescaped, &meaning, 1, &ignored) < 0 ||
            !skip_plain(reader))
            return false;
    }
    if (buffer_append(&reader->unescaped, start, (size_t)(reader->at - start), &ignored) < 0)
        return false;
    *ret_string = (struct slice){reader->unescaped.data, reader->unescaped.size};
    return skip(reader, '"');
}

/* In the document, or in reader->unescaped. */
static bool read_string(struct reader *reader, bool is_key, struct slice *ret_string)
{
    const char *start = reader->at + 1;

    if (!skip(reader, '"') || !skip_plain(reader))
        return false;
    /* A key is still needed when the next string is read. */
    if (look(reader) == '\\')
        return !is_key && read_escaped(reader, start, ret_string);
    *ret_string = (struct slice){start, (size_t)(reader->at - start)};
    return skip(reader, '"');
}

static json_t *read_text(struct reader *reader)
{
    struct slice string = {0};

    return read_string(reader, false, &string) ? json_stringn_nocheck(string.text, string.size)
                                               : NULL;
}

/* The value of a key, put into the object unless it is left out. */
static bool read_member(struct reader *reader, const struct slice *parent, struct slice key,
                        json_t *object)
{
    enum slice_fate fate = parent ? slice_fate(reader->left_out, *parent, key) : SLICE_KEPT;
    size_t count = json_object_size(object);
    json_t *value = NULL;

    if (fate == SLICE_LEFT_OUT) {
        (void)next(reader);
        reader->at = slice_skip_value(reader->at, reader->end);
        return reader->at != NULL;
    }
    value = read_value(reader, fate == SLICE_LOOKED_INTO ? &key : NULL);
    return value && json_object_setn_new_nocheck(object, key.text, key.size, value) == 0 &&
           json_object_size(object) > count; /* else the key was there before */
}

static bool read_members(struct reader *reader, const struct slice *parent, json_t *object)
{
    if (next(reader) == '}')
        return true;
    for (;;) {
        struct slice key = {0};

        if (next(reader) != '"' || !read_string(reader, true, &key) || next(reader) != ':')
            return false;
        reader->at++;
        if (!read_member(reader, parent, key, object))
            return false;
        if (next(reader) == '}')
            return true;
        if (!skip(reader, ','))
            return false;
    }
}

static bool read_elements(struct reader *reader, json_t *array)
{
    if (next(reader) == ']')
        return true;
    for (;;) {
        json_t *value = read_value(reader, NULL);

        if (!value || json_array_append_new(array, value) < 0)
            return false;
        if (next(reader) == ']')
            return true;
        if (!skip(reader, ','))
            return false;
    }
}

/* An object or a list, from its bracket on. */
static json_t *read_container(struct reader *reader, const struct slice *parent)
{
    bool is_object = look(reader) == '{';
    cleanup_json json_t *container = is_object ? json_object() : json_array();

    if (reader->depth_left == 0)
        return NULL;
    reader->depth_left--;
    reader->at++;
    if (is_object ? !read_members(reader, parent, container) : !read_elements(reader, container))
        return NULL;
    reader->depth_left++;
    reader->at++;
    return steal(&container);
}

static json_t *read_integer(struct reader *reader)
{
    bool is_negative = skip(reader, '-');
    const char *start = reader->at;
    json_int_t number = 0;

    while (is_digit(look(reader)) && reader->at - start < SAFE_DIGITS)
        number = number * 10 + (*reader->at++ - '0');
    /* None, too many, 007, -0; and what makes a real of it. */
    if (reader->at == start || is_digit(look(reader)) ||
        (*start == '0' && (is_negative || reader->at - start > 1)) ||
        (look(reader) && strchr(".eE", look(reader))))
        return NULL;
    return json_integer(is_negative ? -number : number);
}

static json_t *read_word(struct reader *reader, const char *word, json_t *value)
{
    if ((size_t)(reader->end - reader->at) < strlen(word) ||
        memcmp(reader->at, word, strlen(word)) != 0)
        return NULL;
    reader->at += strlen(word);
    return value;
}

static json_t *read_value(struct reader *reader, const struct slice *parent)
{
    switch (next(reader)) {
    case '{':
    case '[':
        return read_container(reader, parent);
    case '"':
        return read_text(reader);
    case 't':
        return read_word(reader, "true", json_true());
    case 'f':
        return read_word(reader, "false", json_false());
    case 'n':
        return read_word(reader, "null", json_null());
    default:
        return read_integer(reader);
    }
}

json_t *doc_quick_read(const char *text, size_t size, size_t depth_max, const char *const *left_out)
{
    static const struct slice top = {0};
    struct reader reader = {
        .at = text,
        .end = text + size,
        .depth_left = depth_max,
        .left_out = left_out,
    };
    cleanup_json json_t *doc = NULL;

    buffer_init(&reader.unescaped, size);
    doc = read_value(&reader, left_out ? &top : NULL);
    buffer_done(&reader.unescaped);
    /* Whatever follows is a mistake. */
    return doc && next(&reader) == '\0' && reader.at == reader.end ? steal(&doc) : NULL;
}
