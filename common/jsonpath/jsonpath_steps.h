/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/jsonpath: a parsed path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/jsonpath/jsonpath.h"

enum step_kind { STEP_MEMBER, STEP_ALL, STEP_SLICE, STEP_UNION, STEP_FILTER, STEP_DESCENT };
enum filter_operator {
    FILTER_EXISTS,
    FILTER_EQUAL,
    FILTER_NOT_EQUAL,
    FILTER_LESS,
    FILTER_LESS_OR_EQUAL,
    FILTER_GREATER,
    FILTER_GREATER_OR_EQUAL,
};

struct step;
struct step_list {
    struct step *items;
    size_t count;
};

struct operand {
    json_t *literal; /* NULL: path */
    struct step_list path;
};

struct step {
    enum step_kind kind;
    size_t offset; /* of its text in the path */
    size_t size;
    char *name;               /* STEP_MEMBER */
    struct step_list *unions; /* STEP_UNION */
    size_t union_count;
    /* STEP_SLICE. is_index: end is start + 1, and 0 then stands for the length of the list. */
    bool is_index;
    bool has_end;
    int64_t start;
    int64_t end;
    int64_t stride;
    /* STEP_FILTER */
    enum filter_operator relation;
    struct operand left;
    struct operand right;
};

struct jsonpath {
    char *text;
    struct step_list steps;
};

struct parser {
    const char *text;
    const char *at;
    const char *end; /* of the text, or of the quoted part of it that is parsed */
    size_t step_count;
    int depth;
    bool is_in_filter; /* operators and ")" end a name */
    struct error *err;
};

/* Fails with "invalid JSONPath at offset N: expected <what>"; at is a place in the text. */
int parser_expected(struct parser *parser, const char *at, const char *what);

/* Parse a literal in a filter. *ret_value is a new reference. The parser is at its first byte. */
int parser_string(struct parser *parser, json_t **ret_value);
int parser_number(struct parser *parser, json_t **ret_value);
