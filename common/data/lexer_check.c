/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is one JSON document, without building it. */
#include "common/data/lexer.h"

enum { GO_DEPTH_MAX = 10000 };

/* What may come next. */
enum expectation { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END };

struct validator {
    size_t depth;
    enum expectation expected;
    unsigned char objects[GO_DEPTH_MAX / 8 + 1]; /* a bit for every open bracket: it is a brace */
};

static bool is_in_object(const struct validator *validator)
{
    size_t index = validator->depth - 1;

    return validator->objects[index / 8] >> (index % 8) & 1;
}

static bool open_bracket(struct validator *validator, bool is_object)
{
    size_t index = validator->depth;
    unsigned char bit = (unsigned char)(1U << (index % 8));

    if ((validator->expected != VALUE && validator->expected != VALUE_OR_END) ||
        index == GO_DEPTH_MAX)
        return false;
    if (is_object)
        validator->objects[index / 8] |= bit;
    else
        validator->objects[index / 8] &= (unsigned char)~bit;
    validator->depth++;
    validator->expected = is_object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

static bool close_bracket(struct validator *validator, bool is_object)
{
    if (validator->depth == 0 || is_in_object(validator) != is_object ||
        (validator->expected != COMMA_OR_END &&
         validator->expected != (is_object ? KEY_OR_END : VALUE_OR_END)))
        return false;
    validator->depth--;
    validator->expected = COMMA_OR_END;
    return true;
}

static bool accept_scalar(struct validator *validator, bool is_string)
{
    if (is_string && (validator->expected == KEY || validator->expected == KEY_OR_END)) {
        validator->expected = COLON;
        return true;
    }
    if (validator->expected != VALUE && validator->expected != VALUE_OR_END)
        return false;
    validator->expected = COMMA_OR_END;
    return true;
}

static bool accept(struct validator *validator, enum lexer_type type)
{
    switch (type) {
    case LEXER_OBJECT_BEGIN:
    case LEXER_ARRAY_BEGIN:
        return open_bracket(validator, type == LEXER_OBJECT_BEGIN);
    case LEXER_OBJECT_END:
    case LEXER_ARRAY_END:
        return close_bracket(validator, type == LEXER_OBJECT_END);
    case LEXER_COLON:
        if (validator->expected != COLON)
            return false;
        validator->expected = VALUE;
        return true;
    case LEXER_COMMA:
        if (validator->expected != COMMA_OR_END || validator->depth == 0)
            return false;
        validator->expected = is_in_object(validator) ? KEY : VALUE;
        return true;
    case LEXER_STRING:
    case LEXER_NUMBER:
    case LEXER_TRUE:
    case LEXER_FALSE:
    case LEXER_NULL:
        return accept_scalar(validator, type == LEXER_STRING);
    case LEXER_END:
    case LEXER_INVALID:
        break;
    }
    return false;
}

const char *lexer_check(const char *text, size_t size)
{
    struct validator validator = {0};
    struct lexer lexer = {text, text + size};
    struct lexer_token token = {0};

    while (lexer_next(&lexer, &token) != LEXER_END) {
        if (!accept(&validator, token.type))
            return token.text;
    }
    return validator.depth == 0 && validator.expected == COMMA_OR_END ? NULL : lexer.end;
}
