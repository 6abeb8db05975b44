/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/digit.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/base/utf8.h"
#include "common/jsonpath/jsonpath_steps.h"

static void steps_free(struct step_list *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = &steps->items[i];

        free(step->name);
        for (size_t j = 0; j < step->union_count; j++)
            steps_free(&step->unions[j]);
        free(step->unions);
        json_decref(step->left.literal);
        json_decref(step->right.literal);
        steps_free(&step->left.path);
        steps_free(&step->right.path);
    }
    free(steps->items);
}

void jsonpath_free(struct jsonpath *path)
{
    if (!path)
        return;
    steps_free(&path->steps);
    free(path->text);
    free(path);
}

int parser_expected(struct parser *parser, const char *at, const char *what)
{
    return error_set(parser->err, ERROR_INVALID, "invalid JSONPath at offset %zu: expected %s",
                     (size_t)(at - parser->text), what);
}

/* The next byte, or 0 at the end. */
static char peek(const struct parser *parser)
{
    return parser->at < parser->end ? *parser->at : '\0';
}

static bool accept(struct parser *parser, char letter)
{
    if (!letter || peek(parser) != letter)
        return false;
    parser->at++;
    return true;
}

static void skip_spaces(struct parser *parser)
{
    while (accept(parser, ' '))
        ;
}

/* Appends a step whose text reaches from start to where the parser is. NULL with an error if there
 * are too many. The pointer is valid until the next step is added to the same list. */
static struct step *add_step(struct parser *parser, struct step_list *steps, enum step_kind kind,
                             const char *start)
{
    struct step *step = NULL;

    if (parser->step_count == JSONPATH_STEPS_MAX) {
        (void)parser_expected(parser, start, "at most 256 steps");
        return NULL;
    }
    parser->step_count++;
    steps->items = xreallocarray(steps->items, steps->count + 1, sizeof(steps->items[0]));
    step = &steps->items[steps->count++];
    *step = (struct step){.kind = kind,
                          .offset = (size_t)(start - parser->text),
                          .size = (size_t)(parser->at - start)};
    return step;
}
_Static_assert(JSONPATH_STEPS_MAX == 256, "the message says so");

static bool ends_name(const struct parser *parser, char letter)
{
    return strchr(" \t\r\n.,[]$@{}", letter) || (parser->is_in_filter && strchr("!<>=)", letter));
}

/* Parses a name or "*" behind a dot; start is where the step begins. */
static int parse_name(struct parser *parser, struct step_list *steps, const char *start)
{
    const char *first = parser->at;
    cleanup_free char *name = xmalloc((size_t)(parser->end - first) + 1);
    struct step *step = NULL;
    size_t size = 0;
    bool is_all = false;

    for (; parser->at < parser->end && !ends_name(parser, *parser->at); parser->at++) {
        if (*parser->at == '\\' && ++parser->at == parser->end)
            return parser_expected(parser, parser->at, "a character behind the backslash");
        name[size++] = *parser->at;
    }
    if (size == 0)
        return parser_expected(parser, first, "a member name");
    name[size] = '\0';
    is_all = parser->at - first == 1 && *first == '*';
    step = add_step(parser, steps, is_all ? STEP_ALL : STEP_MEMBER, start);
    if (!step)
        return -1;
    if (!is_all)
        step->name = steal(&name);
    return 0;
}

/* Parses what comes behind a dot: a name, or a second dot. start is where the step begins. */
static int parse_dot(struct parser *parser, struct step_list *steps, const char *start)
{
    if (!accept(parser, '.'))
        return parse_name(parser, steps, start);
    if (steps->count > 0 && steps->items[steps->count - 1].kind == STEP_DESCENT)
        return parser_expected(parser, start, "only one recursive descent \"..\" in a row");
    if (!add_step(parser, steps, STEP_DESCENT, start))
        return -1;
    if (parser->at == parser->end || strchr(" .[", *parser->at) ||
        (parser->is_in_filter && ends_name(parser, *parser->at)))
        return 0;
    return parse_name(parser, steps, parser->at);
}

/* Parses an optional bound of a slice. */
static int parse_bound(struct parser *parser, bool *ret_is_given, int64_t *ret_number)
{
    const char *start = parser->at;
    bool is_negative = accept(parser, '-');
    const char *digits = parser->at;
    cleanup_free char *text = NULL;
    uint64_t number = 0;

    while (is_digit(peek(parser)))
        parser->at++;
    *ret_is_given = parser->at != start;
    if (!*ret_is_given)
        return 0;
    text = xstrndup(digits, (size_t)(parser->at - digits));
    if (!number_parse(text, INT32_MAX, &number))
        return parser_expected(parser, start, "a 32-bit index");
    *ret_number = is_negative ? -(int64_t)number : (int64_t)number;
    return 0;
}

static int parse_bounds(struct parser *parser, struct step *slice)
{
    const char *at = NULL;
    bool is_given = false;

    if (parse_bound(parser, &is_given, &slice->start) < 0)
        return -1;
    if (!accept(parser, ':')) {
        slice->is_index = true;
        slice->has_end = true;
        slice->end = slice->start + 1;
        return 0;
    }
    if (parse_bound(parser, &slice->has_end, &slice->end) < 0)
        return -1;
    if (!accept(parser, ':'))
        return 0;
    at = parser->at;
    if (parse_bound(parser, &is_given, &slice->stride) < 0)
        return -1;
    return slice->stride > 0 ? 0 : parser_expected(parser, at, "a step greater than 0");
}

/* Parses 2, -1, 1:3, ::2, "*", which is ":", or nothing, which is 0. */
static int parse_slice(struct parser *parser, struct step_list *steps)
{
    const char *start = parser->at;
    struct step slice = {.stride = 1};
    struct step *step = NULL;

    if (!accept(parser, '*') && parse_bounds(parser, &slice) < 0)
        return -1;
    step = add_step(parser, steps, STEP_SLICE, start);
    if (!step)
        return -1;
    slice.kind = STEP_SLICE;
    slice.offset = step->offset;
    slice.size = step->size;
    *step = slice;
    return 0;
}

static int parse_steps(struct parser *parser, struct step_list *steps, bool is_behind_dot);

/* The text in quotes is a path of its own, without its leading dot. */
static int parse_quoted(struct parser *parser, struct step_list *steps)
{
    const char *outer_end = parser->end;
    bool is_in_filter = parser->is_in_filter;
    const char *quote = NULL;
    int result = 0;

    parser->at++;
    quote = memchr(parser->at, '\'', (size_t)(parser->end - parser->at));
    if (!quote)
        return parser_expected(parser, parser->end, "the closing quote");
    parser->end = quote;
    parser->is_in_filter = false;
    result = parse_steps(parser, steps, true);
    if (result == 0 && parser->at < parser->end)
        result = parser_expected(parser, parser->at, "\".\", \"[\" or the closing quote");
    parser->end = outer_end;
    parser->is_in_filter = is_in_filter;
    parser->at = result == 0 ? quote + 1 : parser->at;
    return result;
}

/* Parses a member of a union, or the only content of brackets. */
static int parse_selector(struct parser *parser, struct step_list *steps)
{
    int result = 0;

    skip_spaces(parser);
    if (peek(parser) == '\'')
        result = parse_quoted(parser, steps);
    else
        result = parse_slice(parser, steps);
    skip_spaces(parser);
    return result;
}

static int parse_operator(struct parser *parser, enum filter_operator *ret_operator)
{
    static const struct {
        const char *text;
        enum filter_operator relation;
    } operators[] = {
        {"==", FILTER_EQUAL},         {"!=", FILTER_NOT_EQUAL},
        {"<=", FILTER_LESS_OR_EQUAL}, {">=", FILTER_GREATER_OR_EQUAL},
        {"<", FILTER_LESS},           {">", FILTER_GREATER},
    };
    const char *start = parser->at;
    size_t size = 0;

    while (parser->at < parser->end && strchr("!<>=~", *parser->at))
        parser->at++;
    size = (size_t)(parser->at - start);
    for (size_t i = 0; i < array_length(operators); i++) {
        if (strlen(operators[i].text) == size && memcmp(operators[i].text, start, size) == 0) {
            *ret_operator = operators[i].relation;
            return 0;
        }
    }
    return parser_expected(parser, start, "==, !=, <, >, <=, >= or \")\"");
}

static bool accept_word(struct parser *parser, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, word, size) != 0)
        return false;
    parser->at += size;
    return true;
}

static int parse_operand(struct parser *parser, struct operand *operand)
{
    char letter = peek(parser);

    if (letter == '"' || letter == '\'')
        return parser_string(parser, &operand->literal);
    if (is_digit(letter) || letter == '+' || letter == '-')
        return parser_number(parser, &operand->literal);
    if (letter && strchr("@$.[", letter)) {
        if (letter == '@' || letter == '$')
            parser->at++;
        return parse_steps(parser, &operand->path, false);
    }
    if (accept_word(parser, "true"))
        operand->literal = json_true();
    else if (accept_word(parser, "false"))
        operand->literal = json_false();
    else
        return parser_expected(parser, parser->at,
                               "a path such as @.a, a quoted string, a number, true or false");
    return 0;
}

/* Parses the content of [?( )]. */
static int parse_filter(struct parser *parser, struct step *filter)
{
    const char *start = parser->at;

    skip_spaces(parser);
    if (parse_operand(parser, &filter->left) < 0)
        return -1;
    skip_spaces(parser);
    if (peek(parser) == ')') {
        if (filter->left.literal)
            return parser_expected(parser, start, "a path or a comparison");
        return 0;
    }
    if (parse_operator(parser, &filter->relation) < 0)
        return -1;
    skip_spaces(parser);
    if (parse_operand(parser, &filter->right) < 0)
        return -1;
    skip_spaces(parser);
    return peek(parser) == ')' ? 0 : parser_expected(parser, parser->at, "\")\"");
}

static int parse_filter_brackets(struct parser *parser, struct step_list *steps, const char *start)
{
    bool is_in_filter = parser->is_in_filter;
    struct step *filter = add_step(parser, steps, STEP_FILTER, start);

    if (!filter)
        return -1;
    if (!accept(parser, '('))
        return parser_expected(parser, parser->at, "\"(\"");
    parser->is_in_filter = true;
    if (parse_filter(parser, filter) < 0)
        return -1;
    parser->is_in_filter = is_in_filter;
    parser->at++;
    skip_spaces(parser);
    if (!accept(parser, ']'))
        return parser_expected(parser, parser->at, "\"]\"");
    filter->size = (size_t)(parser->at - start);
    return 0;
}

/* Turns the steps from first on into the first member of a union, and parses the others. */
static int parse_union(struct parser *parser, struct step_list *steps, size_t first,
                       const char *start)
{
    struct step_list member = {.count = steps->count - first};
    struct step *step = NULL;

    member.items = xmemdup(&steps->items[first], member.count * sizeof(member.items[0]));
    steps->count = first;
    step = add_step(parser, steps, STEP_UNION, start);
    if (!step) {
        steps_free(&member);
        return -1;
    }
    step->unions = xmalloc(sizeof(step->unions[0]));
    step->unions[step->union_count++] = member;
    while (accept(parser, ',')) {
        step->unions = xreallocarray(step->unions, step->union_count + 1, sizeof(member));
        step->unions[step->union_count++] = (struct step_list){0};
        if (parse_selector(parser, &step->unions[step->union_count - 1]) < 0)
            return -1;
    }
    if (!accept(parser, ']'))
        return parser_expected(parser, parser->at, "\",\" or \"]\"");
    step->size = (size_t)(parser->at - start);
    return 0;
}

/* Parses what comes behind "[". */
static int parse_brackets(struct parser *parser, struct step_list *steps)
{
    const char *start = parser->at - 1;
    size_t first = steps->count;

    if (accept(parser, '?'))
        return parse_filter_brackets(parser, steps, start);
    if (parse_selector(parser, steps) < 0)
        return -1;
    if (peek(parser) == ',')
        return parse_union(parser, steps, first, start);
    if (!accept(parser, ']'))
        return parser_expected(parser, parser->at,
                               "an index, a slice, \"*\", a name in single quotes or \"]\"");
    if (steps->count == first + 1) {
        steps->items[first].offset = (size_t)(start - parser->text);
        steps->items[first].size = (size_t)(parser->at - start);
    }
    return 0;
}

/* Parses steps until something else comes, which the caller checks. */
static int parse_steps(struct parser *parser, struct step_list *steps, bool is_behind_dot)
{
    int result = 0;

    if (parser->depth == JSONPATH_DEPTH_MAX)
        return parser_expected(parser, parser->at, "filters and names nested at most 8 levels");
    parser->depth++;
    if (is_behind_dot)
        result = parse_dot(parser, steps, parser->at);
    while (result == 0) {
        skip_spaces(parser);
        if (accept(parser, '.'))
            result = parse_dot(parser, steps, parser->at - 1);
        else if (accept(parser, '['))
            result = parse_brackets(parser, steps);
        else
            break;
    }
    parser->depth--;
    return result;
}
_Static_assert(JSONPATH_DEPTH_MAX == 8, "the message says so");

static int check_text(struct parser *parser)
{
    uint32_t code = 0;

    if (parser->end - parser->text > JSONPATH_TEXT_MAX)
        return parser_expected(parser, parser->text + JSONPATH_TEXT_MAX, "at most 4096 bytes");
    for (const char *at = parser->text; at < parser->end;) {
        size_t size = utf8_decode(at, (size_t)(parser->end - at), &code);

        if (size == 0)
            return parser_expected(parser, at, "UTF-8");
        at += size;
    }
    return 0;
}
_Static_assert(JSONPATH_TEXT_MAX == 4096, "the message says so");

static int parse_path(struct parser *parser, struct step_list *steps)
{
    bool is_behind_dot = false;

    if (check_text(parser) < 0)
        return -1;
    skip_spaces(parser);
    if (parser->at == parser->end)
        return parser_expected(parser, parser->at, "a path such as .status.phase");
    if (*parser->at == '{')
        return parser_expected(parser, parser->at, "a path without braces");
    if (!accept(parser, '$') && !accept(parser, '@'))
        is_behind_dot = *parser->at != '.' && *parser->at != '[';
    if (parse_steps(parser, steps, is_behind_dot) < 0)
        return -1;
    if (parser->at < parser->end)
        return parser_expected(parser, parser->at, "\".\", \"[\" or the end of the path");
    return 0;
}

int jsonpath_parse(const char *text, struct jsonpath **ret_path, struct error *err)
{
    cleanup_jsonpath struct jsonpath *path = xcalloc(1, sizeof(*path));
    struct parser parser = {.text = text, .at = text, .end = text + strlen(text), .err = err};

    if (parse_path(&parser, &path->steps) < 0)
        return -1;
    path->text = xstrdup(text);
    *ret_path = steal(&path);
    return 0;
}
