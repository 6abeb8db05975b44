/* SPDX-License-Identifier: Apache-2.0 */
/* Lexical analysis of JSON text, for everything here that reads JSON: the parser (doc_parse.c),
 * look-ups in text that is not parsed (slice.h), and the splitting of lists that arrive in pieces
 * (kube/split.h). It works in place: it allocates nothing and never reads past the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum lexer_type {
    LEXER_END,     /* of the text */
    LEXER_INVALID, /* no token: see lexer_token.fault */
    LEXER_OBJECT_BEGIN,
    LEXER_OBJECT_END,
    LEXER_ARRAY_BEGIN,
    LEXER_ARRAY_END,
    LEXER_COLON,
    LEXER_COMMA,
    LEXER_STRING,
    LEXER_NUMBER,
    LEXER_TRUE,
    LEXER_FALSE,
    LEXER_NULL,
};

enum lexer_fault {
    LEXER_FAULT_NONE,
    LEXER_FAULT_SYNTAX,
    LEXER_FAULT_UTF8,
    LEXER_FAULT_NUL,
    LEXER_FAULT_INCOMPLETE, /* the text ends inside a string */
};

struct lexer_token {
    enum lexer_type type;
    enum lexer_fault fault;
    const char *text; /* of a string: without its quotes; of an invalid token: where it is wrong */
    size_t size;
    bool has_escapes; /* a string that must be decoded before it is used */
    bool is_real;     /* a number with a fraction or an exponent */
};

struct lexer {
    const char *at, *end;
};

/* Reads the next token and moves behind it. Strings are well-formed UTF-8 with well-formed escapes,
 * numbers follow the grammar; whether the tokens are in a valid order is for the caller to check.
 */
enum lexer_type lexer_next(struct lexer *lexer, struct lexer_token *ret_token);

/* Decodes a string token into out, which has room for token->size bytes. Fails with
 * LEXER_FAULT_SYNTAX for half a surrogate pair and with LEXER_FAULT_NUL for \u0000, which C strings
 * cannot hold. */
enum lexer_fault lexer_decode(const struct lexer_token *token, char *out, size_t *ret_size);

/* How many bytes at the start of a string stand for themselves in JSON and YAML: printable ASCII
 * except the quote and the backslash. */
size_t lexer_plain_length(const char *text, size_t size);

/* Where a text is in its structure; zeroed at the start. The text may arrive in pieces of any size,
 * and is not checked. */
struct lexer_structure {
    size_t depth; /* of open brackets */
    bool is_in_string, is_escaped;
};

/* Finds the next structural byte: a bracket, colon or comma outside of strings, or a quote that
 * begins or ends one. The structure is then as it is behind that byte. NULL: there is none up to
 * the end of this piece. */
const char *lexer_structure_next(struct lexer_structure *structure, const char *at,
                                 const char *end);

const char *lexer_skip_space(const char *at, const char *end);
/* Moves behind the value that begins at `at` without checking it. NULL: it does not end. */
const char *lexer_skip_value(const char *at, const char *end);

/* Checks that the text is one JSON value, nested no deeper than encoding/json in Go accepts.
 * Duplicate keys and half surrogate pairs are accepted, as in Go. Returns NULL, or where it is
 * wrong. */
const char *lexer_check(const char *text, size_t size);

/* Line and column, from 1, of a place in the text; a column is a byte. */
struct lexer_place {
    size_t line, column;
};
struct lexer_place lexer_place(const char *text, const char *at);
