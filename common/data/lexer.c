/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/lexer.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "common/base/digit.h"
#include "common/base/utf8.h"

enum {
    SPACE = 1,
    STRUCTURE = 2,   /* outside of strings */
    STRING_STOP = 4, /* inside: the quote, the backslash, and all but printable ASCII */
};

static const unsigned char classes[256] = {
    [0 ... '\t' - 1] = STRING_STOP,
    ['\t'] = STRING_STOP | SPACE,
    ['\n'] = STRING_STOP | SPACE,
    [0x0b ... 0x0c] = STRING_STOP,
    ['\r'] = STRING_STOP | SPACE,
    [0x0e ... 0x1f] = STRING_STOP,
    [' '] = SPACE,
    ['"'] = STRING_STOP | STRUCTURE,
    ['\\'] = STRING_STOP,
    ['{'] = STRUCTURE,
    ['}'] = STRUCTURE,
    ['['] = STRUCTURE,
    [']'] = STRUCTURE,
    [':'] = STRUCTURE,
    [','] = STRUCTURE,
    [0x7f ... 0xff] = STRING_STOP,
};

static bool is_class(char byte, unsigned char class)
{
    return classes[(unsigned char)byte] & class;
}

const char *lexer_skip_space(const char *at, const char *end)
{
    while (at < end && is_class(*at, SPACE))
        at++;
    return at;
}

#define EVERY_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Sets the high bit of every byte that equals this one. The lowest bit is always right, those above
 * it may not be, because a byte that is found borrows from the next one. */
static uint64_t find_byte(uint64_t word, uint64_t byte)
{
    uint64_t difference = word ^ EVERY_BYTE(byte);

    return (difference - EVERY_BYTE(1)) & ~difference;
}

/* Eight bytes at a time: most bytes of a document are text that stands for itself. */
size_t lexer_plain_length(const char *text, size_t size)
{
    size_t length = 0;

    for (; size - length >= sizeof(uint64_t); length += sizeof(uint64_t)) {
        uint64_t word = 0;
        uint64_t found = 0;

        memcpy(&word, text + length, sizeof(word));
        word = le64toh(word);
        found = (word - EVERY_BYTE(' ')) | find_byte(word, '"') | find_byte(word, '\\') |
                find_byte(word, 0x7f) | word;
        found &= EVERY_BYTE(0x80);
        if (found)
            return length + (size_t)__builtin_ctzll(found) / 8;
    }
    while (length < size && !is_class(text[length], STRING_STOP))
        length++;
    return length;
}

/* ---- tokens ---- */

static enum lexer_type fail(struct lexer_token *token, const char *at, enum lexer_fault fault)
{
    *token = (struct lexer_token){.type = LEXER_INVALID, .fault = fault, .text = at};
    return LEXER_INVALID;
}

static int hex_value(char digit)
{
    if (is_digit(digit))
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The length of the escape that begins at `at`, a backslash; 0 if it is not well-formed. */
static size_t escape_length(const char *at, const char *end)
{
    enum { UNICODE_LENGTH = 6 };

    if (end - at < 2 || !at[1])
        return 0;
    if (at[1] != 'u')
        return strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
    if (end - at < UNICODE_LENGTH)
        return 0;
    for (size_t i = 2; i < UNICODE_LENGTH; i++) {
        if (hex_value(at[i]) < 0)
            return 0;
    }
    return UNICODE_LENGTH;
}

/* Reads the string whose first quote is at lexer->at. */
static enum lexer_type read_string(struct lexer *lexer, struct lexer_token *token)
{
    const char *start = lexer->at + 1;
    const char *at = start;
    bool has_escapes = false;

    for (;;) {
        uint32_t code = 0;
        size_t length = 0;

        at += lexer_plain_length(at, (size_t)(lexer->end - at));
        if (at == lexer->end)
            return fail(token, at, LEXER_FAULT_INCOMPLETE);
        if (*at == '"')
            break;
        if (*at == '\\') {
            length = escape_length(at, lexer->end);
            has_escapes = true;
        } else if (*at == '\0') {
            return fail(token, at, LEXER_FAULT_NUL);
        } else {
            length = utf8_decode(at, (size_t)(lexer->end - at), &code);
            if (length == 0)
                return fail(token, at, LEXER_FAULT_UTF8);
            if (code < ' ')
                length = 0;
        }
        if (length == 0)
            return fail(token, at, LEXER_FAULT_SYNTAX);
        at += length;
    }
    *token = (struct lexer_token){.type = LEXER_STRING,
                                  .text = start,
                                  .size = (size_t)(at - start),
                                  .has_escapes = has_escapes};
    lexer->at = at + 1;
    return LEXER_STRING;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

static enum lexer_type read_number(struct lexer *lexer, struct lexer_token *token)
{
    const char *end = lexer->end;
    const char *digits = lexer->at + (*lexer->at == '-');
    const char *at = digits < end && *digits == '0' ? digits + 1 : skip_digits(digits, end);
    bool is_real = false;

    if (at == digits)
        return fail(token, lexer->at, LEXER_FAULT_SYNTAX);
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        if (at == digits)
            return fail(token, at, LEXER_FAULT_SYNTAX);
        is_real = true;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        digits = at + 1;
        digits += digits < end && (*digits == '+' || *digits == '-');
        at = skip_digits(digits, end);
        if (at == digits)
            return fail(token, at, LEXER_FAULT_SYNTAX);
        is_real = true;
    }
    *token = (struct lexer_token){.type = LEXER_NUMBER,
                                  .text = lexer->at,
                                  .size = (size_t)(at - lexer->at),
                                  .is_real = is_real};
    lexer->at = at;
    return LEXER_NUMBER;
}

static enum lexer_type read_fixed(struct lexer *lexer, struct lexer_token *token, const char *text,
                                  size_t size, enum lexer_type type)
{
    if ((size_t)(lexer->end - lexer->at) < size || memcmp(lexer->at, text, size) != 0)
        return fail(token, lexer->at, LEXER_FAULT_SYNTAX);
    token->type = type;
    token->text = lexer->at;
    token->size = size;
    lexer->at += size;
    return type;
}

enum lexer_type lexer_next(struct lexer *lexer, struct lexer_token *ret_token)
{
    lexer->at = lexer_skip_space(lexer->at, lexer->end);
    if (lexer->at == lexer->end) {
        *ret_token = (struct lexer_token){.type = LEXER_END, .text = lexer->at};
        return LEXER_END;
    }
    switch (*lexer->at) {
    case '{':
        return read_fixed(lexer, ret_token, "{", 1, LEXER_OBJECT_BEGIN);
    case '}':
        return read_fixed(lexer, ret_token, "}", 1, LEXER_OBJECT_END);
    case '[':
        return read_fixed(lexer, ret_token, "[", 1, LEXER_ARRAY_BEGIN);
    case ']':
        return read_fixed(lexer, ret_token, "]", 1, LEXER_ARRAY_END);
    case ':':
        return read_fixed(lexer, ret_token, ":", 1, LEXER_COLON);
    case ',':
        return read_fixed(lexer, ret_token, ",", 1, LEXER_COMMA);
    case '"':
        return read_string(lexer, ret_token);
    case 't':
        return read_fixed(lexer, ret_token, "true", 4, LEXER_TRUE);
    case 'f':
        return read_fixed(lexer, ret_token, "false", 5, LEXER_FALSE);
    case 'n':
        return read_fixed(lexer, ret_token, "null", 4, LEXER_NULL);
    case '\0':
        return fail(ret_token, lexer->at, LEXER_FAULT_NUL);
    default:
        return read_number(lexer, ret_token);
    }
}

/* ---- decoding ---- */

static uint32_t read_unit(const char *digits)
{
    uint32_t unit = 0;

    for (size_t i = 0; i < 4; i++)
        unit = unit << 4 | (uint32_t)hex_value(digits[i]);
    return unit;
}

/* Reads the code point of the \u escape at *at and moves behind it; UINT32_MAX for half a surrogate
 * pair. */
static uint32_t read_code_point(const char **at, const char *end)
{
    uint32_t high = read_unit(*at + 2);
    uint32_t low = 0;

    *at += 6;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return UINT32_MAX;
    low = read_unit(*at + 2);
    *at += 6;
    if (low < 0xdc00 || low > 0xdfff)
        return UINT32_MAX;
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

static char simple_escape(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

enum lexer_fault lexer_decode(const struct lexer_token *token, char *out, size_t *ret_size)
{
    const char *at = token->text;
    const char *end = token->text + token->size;
    size_t used = 0;

    while (at < end) {
        uint32_t code = 0;

        if (*at != '\\') {
            out[used++] = *at++;
            continue;
        }
        if (at[1] != 'u') {
            out[used++] = simple_escape(at[1]);
            at += 2;
            continue;
        }
        code = read_code_point(&at, end);
        if (code == 0)
            return LEXER_FAULT_NUL;
        if (code == UINT32_MAX)
            return LEXER_FAULT_SYNTAX;
        used += utf8_put(code, out + used);
    }
    *ret_size = used;
    return LEXER_FAULT_NONE;
}

/* ---- structure ---- */

/* Moves to the quote that ends the string: the first one behind an even number of backslashes. */
static const char *find_string_end(struct lexer_structure *structure, const char *at,
                                   const char *end)
{
    if (structure->is_escaped && at < end) {
        structure->is_escaped = false;
        at++;
    }
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        const char *stop = quote ? quote : end;
        const char *escapes = stop;

        while (escapes > at && escapes[-1] == '\\')
            escapes--;
        if ((stop - escapes) % 2 == 0) {
            structure->is_in_string = quote == NULL;
            return quote;
        }
        if (!quote) {
            structure->is_escaped = true;
            return NULL;
        }
        at = quote + 1;
    }
    return NULL;
}

const char *lexer_structure_next(struct lexer_structure *structure, const char *at, const char *end)
{
    if (structure->is_in_string)
        return find_string_end(structure, at, end);
    while (at < end && !is_class(*at, STRUCTURE))
        at++;
    if (at == end)
        return NULL;
    if (*at == '"')
        structure->is_in_string = true;
    else if (*at == '{' || *at == '[')
        structure->depth++;
    else if (*at == '}' || *at == ']')
        structure->depth -= structure->depth > 0;
    return at;
}

/* A loop of its own, because half the bytes of a Kubernetes object are skipped (managedFields). */
const char *lexer_skip_value(const char *at, const char *end)
{
    struct lexer_structure string = {0};
    size_t depth = 0;

    for (; at < end; at++) {
        switch (*at) {
        case '"':
            at = find_string_end(&string, at + 1, end);
            if (!at)
                return NULL;
            break;
        case '{':
        case '[':
            depth++;
            continue;
        case '}':
        case ']':
            if (depth == 0)
                return at;
            depth--;
            break;
        default:
            if (depth > 0 || !is_class(*at, STRUCTURE | SPACE))
                continue;
            return at;
        }
        if (depth == 0)
            return at + 1;
    }
    return depth == 0 ? at : NULL;
}

struct lexer_place lexer_place(const char *text, const char *at)
{
    struct lexer_place place = {.line = 1, .column = 1};

    for (; text < at; text++) {
        place.column++;
        if (*text == '\n')
            place = (struct lexer_place){.line = place.line + 1, .column = 1};
    }
    return place;
}
