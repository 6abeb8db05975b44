/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/base/utf8.h"
#include "common/data/doc.h"
#include "common/jsonpath/jsonpath_steps.h"

static int digit_value(char letter)
{
    if (is_digit(letter))
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return 16;
}

/* Reads exactly count digits of the base. */
static bool read_code(struct parser *parser, int count, int base, uint32_t *ret_code)
{
    uint32_t code = 0;

    for (int i = 0; i < count; i++, parser->at++) {
        int value = parser->at < parser->end ? digit_value(*parser->at) : base;

        if (value >= base)
            return false;
        code = code * (uint32_t)base + (uint32_t)value;
    }
    *ret_code = code;
    return true;
}

/* Reads an escape sequence of a Go string; the parser is behind the backslash. Bytes given as \x80
 * or \200 and above are refused: they would not be UTF-8 on their own. */
static bool read_escape(struct parser *parser, char quote, uint32_t *ret_code)
{
    static const char letters[] = "abfnrtv\\";
    static const char codes[] = "\a\b\f\n\r\t\v\\";
    char letter = parser->at < parser->end ? *parser->at : '\0';
    const char *found = letter ? strchr(letters, letter) : NULL;

    if (found || (letter && letter == quote)) {
        *ret_code = (uint32_t)(unsigned char)(found ? codes[found - letters] : quote);
        parser->at++;
        return true;
    }
    if (letter >= '0' && letter <= '7')
        return read_code(parser, 3, 8, ret_code) && *ret_code < 0x80;
    parser->at++;
    if (letter == 'x')
        return read_code(parser, 2, 16, ret_code) && *ret_code < 0x80;
    if (letter == 'u')
        return read_code(parser, 4, 16, ret_code);
    if (letter == 'U')
        return read_code(parser, 8, 16, ret_code);
    return false;
}

static bool is_character(uint32_t code)
{
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

int parser_string(struct parser *parser, json_t **ret_value)
{
    const char *start = parser->at++;
    /* An escape sequence is never shorter than the character it stands for. */
    cleanup_free char *bytes = xmalloc((size_t)(parser->end - start));
    size_t size = 0;

    for (;;) {
        const char *at = parser->at;
        uint32_t code = 0;

        if (at == parser->end || *at == '\n')
            return parser_expected(parser, at, "the closing quote");
        parser->at++;
        if (*at == *start)
            break;
        if (*at != '\\') {
            bytes[size++] = *at;
            continue;
        }
        if (!read_escape(parser, *start, &code) || !is_character(code))
            return parser_expected(parser, at, "an escape sequence such as \\n or \\u00e4");
        size += utf8_put(code, bytes + size);
    }
    *ret_value = doc_new_string(bytes, size);
    return 0;
}

int parser_number(struct parser *parser, json_t **ret_value)
{
    static const char what[] = "a number such as -2 or 0.5";
    const char *start = parser->at;
    cleanup_free char *text = NULL;
    int64_t integer = 0;
    struct error err = {0};

    if (*start == '+' || *start == '-')
        parser->at++;
    while (parser->at < parser->end && (is_digit(*parser->at) || *parser->at == '.'))
        parser->at++;
    text = xstrndup(start, (size_t)(parser->at - start));
    if (number_parse_signed(text, &integer)) {
        *ret_value = json_integer(integer);
        return 0;
    }
    if (text[0] == '+')
        text[0] = ' ';
    if (doc_parse_json(text, strlen(text), JSONPATH_TEXT_MAX, ret_value, &err) < 0)
        return parser_expected(parser, start, what);
    return 0;
}
