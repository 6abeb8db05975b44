/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_quick.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/buffer.h"
#include "common/base/utf8.h"
#include "common/data/doc.h"

enum { SAFE_DIGITS = 18 }; /* any integer of so many digits fits into 64 bits */

struct reader {
    const char *at, *end;
    struct buffer unescaped; /* the last string that had an escape */
};

struct string {
    const char *text; /* in the document, or in reader->unescaped */
    size_t size;
};

static json_t *read_value(struct reader *reader);

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
    while (reader->at < reader->end) {
        unsigned char byte = (unsigned char)*reader->at;
        uint32_t code = 0;
        size_t length = 1;

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
    return false;
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

static bool read_escaped(struct reader *reader, const char *start, struct string *ret_string)
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
    *ret_string = (struct string){reader->unescaped.data, reader->unescaped.size};
    return skip(reader, '"');
}

static bool read_string(struct reader *reader, bool is_key, struct string *ret_string)
{
    const char *start = reader->at + 1;

    if (!skip(reader, '"') || !skip_plain(reader))
        return false;
    /* A key is still needed when the next string is read. */
    if (look(reader) == '\\')
        return !is_key && read_escaped(reader, start, ret_string);
    *ret_string = (struct string){start, (size_t)(reader->at - start)};
    return skip(reader, '"');
}

static json_t *read_text(struct reader *reader)
{
    struct string string = {0};

    return read_string(reader, false, &string) ? json_stringn_nocheck(string.text, string.size)
                                               : NULL;
}

static json_t *read_object(struct reader *reader)
{
    cleanup_json json_t *object = json_object();

    reader->at++;
    if (next(reader) == '}') {
        reader->at++;
        return steal(&object);
    }
    for (size_t count = 1;; count++) {
        struct string key = {0};
        json_t *value = NULL;

        if (next(reader) != '"' || !read_string(reader, true, &key) || next(reader) != ':')
            return NULL;
        reader->at++;
        value = read_value(reader);
        if (!value || json_object_setn_new_nocheck(object, key.text, key.size, value) < 0 ||
            json_object_size(object) != count) /* else the key was there before */
            return NULL;
        if (next(reader) == '}') {
            reader->at++;
            return steal(&object);
        }
        if (!skip(reader, ','))
            return NULL;
    }
}

static json_t *read_array(struct reader *reader)
{
    cleanup_json json_t *array = json_array();

    reader->at++;
    if (next(reader) == ']') {
        reader->at++;
        return steal(&array);
    }
    for (;;) {
        json_t *value = read_value(reader);

        if (!value || json_array_append_new(array, value) < 0)
            return NULL;
        if (next(reader) == ']') {
            reader->at++;
            return steal(&array);
        }
        if (!skip(reader, ','))
            return NULL;
    }
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
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

static json_t *read_value(struct reader *reader)
{
    switch (next(reader)) {
    case '{':
        return read_object(reader);
    case '[':
        return read_array(reader);
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

json_t *doc_quick_read(const char *text, size_t size)
{
    struct reader reader = {.at = text, .end = text + size};
    cleanup_json json_t *doc = NULL;

    buffer_init(&reader.unescaped, size);
    doc = read_value(&reader);
    buffer_done(&reader.unescaped);
    /* Whatever follows is a mistake. */
    return doc && next(&reader) == '\0' && reader.at == reader.end ? steal(&doc) : NULL;
}
