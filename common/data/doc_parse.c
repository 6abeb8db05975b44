/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON parser: builds jansson trees from the tokens of lexer.h. The parser of jansson is not
 * used, because it refuses integers past 64 bits, quotes the text (which may be a secret) in its
 * messages, cannot leave members out, and is slow: by callgrind, a pod of 8 KB takes 1,487,000
 * instructions with jansson and 390,000 here (163,000 without the skipped members of a
 * watch event). */
#include "common/data/doc.h"

#include <math.h>
#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/data/doc_budget.h"
#include "common/data/lexer.h"
#include "common/data/string_cache.h"

struct parser {
    const char *text;
    struct lexer lexer;
    struct lexer_token token; /* the one that was read last */
    size_t depth;
    size_t tree_bytes;
    const char *const *skipped_members; /* or NULL */
    struct string_cache strings;
    struct error *err;
};

/* parent: the key of the object in token if some of its members may be skipped, "" for the
 * document itself, else NULL. */
static json_t *parse_value(struct parser *parser, const struct lexer_token *parent);

/* ---- errors ---- */

static void *fail(struct parser *parser, const char *at, enum error_kind kind, const char *text)
{
    struct lexer_place place = lexer_place(parser->text, at);

    (void)error_set(parser->err, kind, "line %zu, column %zu: %s", place.line, place.column, text);
    return NULL;
}

static const char *explain(enum lexer_fault fault)
{
    switch (fault) {
    case LEXER_FAULT_UTF8:
        return "invalid UTF-8";
    case LEXER_FAULT_NUL:
        return "NUL characters are not allowed";
    case LEXER_FAULT_INCOMPLETE:
        return "unexpected end of text";
    case LEXER_FAULT_NONE:
    case LEXER_FAULT_SYNTAX:
        break;
    }
    return "invalid JSON";
}

static void *fail_at_token(struct parser *parser)
{
    const struct lexer_token *token = &parser->token;

    return fail(parser, token->text, ERROR_INVALID,
                explain(token->type == LEXER_END ? LEXER_FAULT_INCOMPLETE : token->fault));
}

/* ---- values ---- */

static enum lexer_type next(struct parser *parser)
{
    return lexer_next(&parser->lexer, &parser->token);
}

/* Few bytes of text can be many of memory: "{}," is 250. */
static bool take_bytes(struct parser *parser, size_t bytes)
{
    parser->tree_bytes += bytes;
    if (parser->tree_bytes <= DOC_TREE_MAX_BYTES)
        return true;
    (void)fail(parser, parser->token.text, ERROR_TOO_LARGE, DOC_TREE_TOO_LARGE);
    return false;
}

/* Decodes a string with escapes; the result belongs to the caller. */
static char *decode(struct parser *parser, const struct lexer_token *token, size_t *ret_size)
{
    cleanup_free char *text = xmalloc(token->size);
    enum lexer_fault fault = lexer_decode(token, text, ret_size);

    if (fault != LEXER_FAULT_NONE)
        return fail(parser, token->text, ERROR_INVALID, explain(fault));
    return steal(&text);
}

static json_t *parse_string(struct parser *parser)
{
    const struct lexer_token *token = &parser->token;
    cleanup_free char *decoded = NULL;
    size_t size = token->size;

    if (!take_bytes(parser, DOC_WEIGHT_STRING + size))
        return NULL;
    if (!token->has_escapes)
        return string_cache_get(&parser->strings, token->text, size);
    decoded = decode(parser, token, &size);
    return decoded ? json_stringn_nocheck(decoded, size) : NULL;
}

/* Go, and so the API server, reads integers past 64 bits as floating-point numbers. */
static json_t *parse_real(struct parser *parser)
{
    cleanup_free char *text = xstrndup(parser->token.text, parser->token.size);
    double value = strtod(text, NULL);

    if (isinf(value))
        return fail(parser, parser->token.text, ERROR_INVALID, "number out of range");
    return json_real(value);
}

static json_t *parse_number(struct parser *parser)
{
    const struct lexer_token *token = &parser->token;
    bool is_negative = token->text[0] == '-';
    json_int_t value = 0;

    if (!take_bytes(parser, DOC_WEIGHT_OTHER))
        return NULL;
    if (token->is_real)
        return parse_real(parser);
    for (size_t i = is_negative; i < token->size; i++) {
        int digit = token->text[i] - '0';

        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, is_negative ? -digit : digit, &value))
            return parse_real(parser);
    }
    return json_integer(value);
}

/* ---- objects and arrays ---- */

enum member_action { MEMBER_KEEP, MEMBER_SKIP, MEMBER_DESCEND };

static bool is_text(const struct lexer_token *token, const char *text, size_t size)
{
    return token->size == size && memcmp(token->text, text, size) == 0;
}

/* How to treat a member of the document (parent is empty) or of its member parent. */
static enum member_action member_action_of(const char *const *skipped_members,
                                           const struct lexer_token *parent,
                                           const struct lexer_token *key)
{
    enum member_action action = MEMBER_KEEP;

    for (const char *const *path = skipped_members; *path; path++) {
        size_t length = strcspn(*path, ".");
        const char *rest = (*path)[length] ? *path + length + 1 : NULL;

        if (parent->size) {
            if (rest && is_text(parent, *path, length) && is_text(key, rest, strlen(rest)))
                return MEMBER_SKIP;
        } else if (is_text(key, *path, length)) {
            if (!rest)
                return MEMBER_SKIP;
            action = MEMBER_DESCEND;
        }
    }
    return action;
}

static bool skip_value(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    const char *start = lexer_skip_space(lexer->at, lexer->end);
    const char *after = lexer_skip_value(start, lexer->end);

    if (!after || after == start)
        return fail(parser, after ? start : lexer->end, ERROR_INVALID,
                    explain(after ? LEXER_FAULT_SYNTAX : LEXER_FAULT_INCOMPLETE));
    lexer->at = after;
    return true;
}

/* Reads the value of a key and adds it to the object, unless it is skipped. */
static bool parse_member_value(struct parser *parser, const struct lexer_token *parent,
                               const struct lexer_token *key, json_t *object)
{
    enum member_action action =
        parent ? member_action_of(parser->skipped_members, parent, key) : MEMBER_KEEP;
    cleanup_free char *decoded = NULL;
    size_t count = json_object_size(object);
    size_t size = key->size;
    json_t *value = NULL;

    if (action == MEMBER_SKIP)
        return skip_value(parser);
    if (key->has_escapes) {
        decoded = decode(parser, key, &size);
        if (!decoded)
            return false;
    }
    if (!take_bytes(parser, DOC_WEIGHT_MEMBER + size))
        return false;
    (void)next(parser);
    value = parse_value(parser, action == MEMBER_DESCEND ? key : NULL);
    if (!value)
        return false;
    (void)json_object_setn_new_nocheck(object, decoded ? decoded : key->text, size, value);
    if (json_object_size(object) == count)
        return fail(parser, key->text - 1, ERROR_INVALID, "duplicate key");
    return true;
}

static bool parse_members(struct parser *parser, const struct lexer_token *parent, json_t *object)
{
    enum lexer_type type = next(parser);

    while (type != LEXER_OBJECT_END) {
        struct lexer_token key = parser->token;

        if (type != LEXER_STRING || next(parser) != LEXER_COLON)
            return fail_at_token(parser);
        if (!parse_member_value(parser, parent, &key, object))
            return false;
        type = next(parser);
        if (type == LEXER_COMMA) {
            type = next(parser);
            if (type != LEXER_STRING)
                return fail_at_token(parser);
        } else if (type != LEXER_OBJECT_END) {
            return fail_at_token(parser);
        }
    }
    return true;
}

static bool parse_elements(struct parser *parser, json_t *array)
{
    enum lexer_type type = next(parser);

    while (type != LEXER_ARRAY_END) {
        json_t *value = parse_value(parser, NULL);

        if (!value)
            return false;
        (void)json_array_append_new(array, value);
        type = next(parser);
        if (type == LEXER_COMMA) {
            if (next(parser) == LEXER_ARRAY_END)
                return fail_at_token(parser);
        } else if (type != LEXER_ARRAY_END) {
            return fail_at_token(parser);
        }
    }
    return true;
}

static bool enter(struct parser *parser, size_t bytes)
{
    if (parser->depth == DOC_DEPTH_MAX)
        return fail(parser, parser->token.text, ERROR_INVALID, DOC_TOO_DEEP);
    parser->depth++;
    return take_bytes(parser, bytes);
}

static json_t *parse_object(struct parser *parser, const struct lexer_token *parent)
{
    cleanup_json json_t *object = json_object();

    if (!enter(parser, DOC_WEIGHT_OBJECT) || !parse_members(parser, parent, object))
        return NULL;
    parser->depth--;
    return steal(&object);
}

static json_t *parse_array(struct parser *parser)
{
    cleanup_json json_t *array = json_array();

    if (!enter(parser, DOC_WEIGHT_ARRAY) || !parse_elements(parser, array))
        return NULL;
    parser->depth--;
    return steal(&array);
}

static json_t *parse_value(struct parser *parser, const struct lexer_token *parent)
{
    switch (parser->token.type) {
    case LEXER_OBJECT_BEGIN:
        return parse_object(parser, parent);
    case LEXER_ARRAY_BEGIN:
        return parse_array(parser);
    case LEXER_STRING:
        return parse_string(parser);
    case LEXER_NUMBER:
        return parse_number(parser);
    case LEXER_TRUE:
        return json_true();
    case LEXER_FALSE:
        return json_false();
    case LEXER_NULL:
        return json_null();
    case LEXER_END:
    case LEXER_INVALID:
    case LEXER_OBJECT_END:
    case LEXER_ARRAY_END:
    case LEXER_COLON:
    case LEXER_COMMA:
        break;
    }
    return fail_at_token(parser);
}

int doc_parse_json_without(const char *text, size_t size, size_t max_bytes,
                           const char *const *skipped_members, json_t **ret_doc, struct error *err)
{
    static const struct lexer_token top = {.text = ""};
    struct parser parser = {
        .text = text, .lexer = {text, text + size}, .skipped_members = skipped_members, .err = err};
    cleanup_json json_t *doc = NULL;

    if (size > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "more than %zu bytes of JSON", max_bytes);
    if (next(&parser) == LEXER_END)
        return error_set(err, ERROR_INVALID, "line 1, column 1: the text is empty");
    doc = parse_value(&parser, skipped_members ? &top : NULL);
    string_cache_done(&parser.strings);
    if (!doc)
        return -1;
    if (next(&parser) != LEXER_END) {
        (void)fail(&parser, parser.token.text, ERROR_INVALID, "unexpected data after the document");
        return -1;
    }
    *ret_doc = steal(&doc);
    return 0;
}

int doc_parse_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err)
{
    return doc_parse_json_without(text, size, max_bytes, NULL, ret_doc, err);
}
