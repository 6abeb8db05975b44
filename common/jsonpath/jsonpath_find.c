/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/jsonpath/jsonpath_steps.h"
#include "common/jsonpath/value.h"

enum { STEP_TEXT_MAX = 80, BYTES_PER_VISIT = 256 };

/* Borrowed values. */
struct values {
    const json_t **items;
    size_t count;
    size_t capacity;
};

struct search {
    const struct jsonpath *path;
    size_t visits_left;
    struct error *err;
};

static void values_done(struct values *values)
{
    free(values->items);
}
#define cleanup_values __attribute__((cleanup(values_done)))

static int spend(struct search *search, size_t visits)
{
    if (search->visits_left < visits)
        return error_set(search->err, ERROR_TOO_LARGE,
                         "the JSONPath visits more than %d values of the document",
                         JSONPATH_VISITS_MAX);
    search->visits_left -= visits;
    return 0;
}

static int add(struct search *search, struct values *values, const json_t *value)
{
    if (spend(search, 1) < 0)
        return -1;
    if (values->count == values->capacity) {
        values->capacity = values->capacity ? values->capacity * 2 : 4;
        values->items = xreallocarray(values->items, values->capacity, sizeof(const json_t *));
    }
    values->items[values->count++] = value;
    return 0;
}

static int add_all(struct search *search, struct values *values, const struct values *more)
{
    for (size_t i = 0; i < more->count; i++) {
        if (add(search, values, more->items[i]) < 0)
            return -1;
    }
    return 0;
}

/* Puts 'step "[2]" at offset 7: ' in front of the message. A long step is cut off at a character.
 */
static int at_step(struct search *search, const struct step *step)
{
    const char *text = search->path->text + step->offset;
    size_t size = step->size;

    if (size > STEP_TEXT_MAX) {
        size = STEP_TEXT_MAX;
        while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
            size--;
    }
    return error_wrap(search->err, "step \"%.*s%s\" at offset %zu", (int)size, text,
                      size < step->size ? "..." : "", step->offset);
}

static int not_found(struct search *search, const struct step *step, const struct values *input)
{
    if (input->count == 1)
        (void)error_set(search->err, ERROR_NOT_FOUND, "not found in %s",
                        doc_type_name(input->items[0]));
    else
        (void)error_set(search->err, ERROR_NOT_FOUND, "not found in any of %zu values",
                        input->count);
    return at_step(search, step);
}

static int expected_list(struct search *search, const struct step *step, const json_t *value)
{
    (void)error_set(search->err, ERROR_INVALID, "expected a list, got %s", doc_type_name(value));
    return at_step(search, step);
}

static int evaluate(struct search *search, const struct step_list *steps, struct values *values,
                    enum jsonpath_missing missing);

static int take_member(struct search *search, const struct step *step, const json_t *value,
                       struct values *ret)
{
    const json_t *member = json_object_get(value, step->name);

    return member ? add(search, ret, member) : spend(search, 1);
}

static int take_all(struct search *search, const json_t *value, struct values *ret)
{
    const char *key = NULL;
    json_t *child = NULL;

    for (size_t i = 0; i < json_array_size(value); i++) {
        if (add(search, ret, json_array_get(value, i)) < 0)
            return -1;
    }
    if (!json_is_object(value))
        return 0;
    doc_foreach(value, key, child)
    {
        if (add(search, ret, child) < 0)
            return -1;
    }
    return 0;
}

/* The rules are those of client-go: an empty range may be anywhere, any other must be inside. */
static int take_slice(struct search *search, const struct step *step, const json_t *value,
                      struct values *ret)
{
    int64_t size = (int64_t)json_array_size(value);
    int64_t start = step->start < 0 ? step->start + size : step->start;
    int64_t end = step->has_end ? step->end : size;

    if (json_is_null(value))
        return 0;
    if (!json_is_array(value))
        return expected_list(search, step, value);
    if (step->has_end && (end < 0 || (end == 0 && step->is_index)))
        end += size;
    if (start == end)
        return 0;
    if (start < 0 || end < start || end > size) {
        (void)error_set(search->err, ERROR_INVALID, "out of range, the list has %lld elements",
                        (long long)size);
        return at_step(search, step);
    }
    for (int64_t i = start; i < end; i += step->stride) {
        if (add(search, ret, json_array_get(value, (size_t)i)) < 0)
            return -1;
    }
    return 0;
}

/* As in client-go, values without content (numbers, booleans, empty lists ...) are left out. */
static int descend(struct search *search, const json_t *value, int depth, struct values *ret)
{
    const char *key = NULL;
    json_t *child = NULL;

    if (depth > DOC_DEPTH_MAX)
        return error_set(search->err, ERROR_TOO_LARGE, "the document has more than %d levels",
                         DOC_DEPTH_MAX);
    if (json_array_size(value) == 0 && json_object_size(value) == 0 &&
        json_string_length(value) == 0)
        return spend(search, 1);
    if (add(search, ret, value) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (descend(search, json_array_get(value, i), depth + 1, ret) < 0)
            return -1;
    }
    if (!json_is_object(value))
        return 0;
    doc_foreach(value, key, child)
    {
        if (descend(search, child, depth + 1, ret) < 0)
            return -1;
    }
    return 0;
}

static int take_union(struct search *search, const struct step *step, const struct values *input,
                      enum jsonpath_missing missing, struct values *ret)
{
    for (size_t i = 0; i < step->union_count; i++) {
        cleanup_values struct values found = {0};

        if (add_all(search, &found, input) < 0 ||
            evaluate(search, &step->unions[i], &found, missing) < 0 ||
            add_all(search, ret, &found) < 0)
            return -1;
    }
    return 0;
}

static int compare_strings(struct search *search, const json_t *a, const json_t *b, int *ret_order)
{
    size_t a_size = json_string_length(a);
    size_t b_size = json_string_length(b);
    size_t size = a_size < b_size ? a_size : b_size;
    int order = 0;

    if (spend(search, size / BYTES_PER_VISIT) < 0)
        return -1;
    order = memcmp(json_string_value(a), json_string_value(b), size);
    *ret_order = order ? order : (a_size > b_size) - (a_size < b_size);
    return 0;
}

static bool is_order(enum filter_operator relation)
{
    return relation != FILTER_EQUAL && relation != FILTER_NOT_EQUAL;
}

static int compare(struct search *search, const struct step *step, const json_t *left,
                   const json_t *right, int *ret_order)
{
    if (json_is_number(left) && json_is_number(right)) {
        *ret_order = value_compare_numbers(left, right);
        return 0;
    }
    if (json_is_string(left) && json_is_string(right))
        return compare_strings(search, left, right, ret_order);
    if (json_is_boolean(left) && json_is_boolean(right) && !is_order(step->relation)) {
        *ret_order = json_is_true(left) != json_is_true(right);
        return 0;
    }
    (void)error_set(search->err, ERROR_INVALID, "cannot compare %s with %s", doc_type_name(left),
                    doc_type_name(right));
    return at_step(search, step);
}

static bool holds(enum filter_operator relation, int order)
{
    switch (relation) {
    case FILTER_EQUAL:
        return order == 0;
    case FILTER_NOT_EQUAL:
        return order != 0;
    case FILTER_LESS:
        return order < 0;
    case FILTER_LESS_OR_EQUAL:
        return order <= 0;
    case FILTER_GREATER:
        return order > 0;
    case FILTER_EXISTS: /* compares nothing */
    case FILTER_GREATER_OR_EQUAL:
        break;
    }
    return order >= 0;
}

static int find_operand(struct search *search, const struct operand *operand, const json_t *element,
                        struct values *ret)
{
    if (operand->literal)
        return add(search, ret, operand->literal);
    if (add(search, ret, element) < 0)
        return -1;
    return evaluate(search, &operand->path, ret, JSONPATH_MISSING_IS_NOTHING);
}

static int matches(struct search *search, const struct step *step, const json_t *element,
                   bool *ret_matches)
{
    cleanup_values struct values left = {0};
    cleanup_values struct values right = {0};
    int order = 0;

    *ret_matches = false;
    if (find_operand(search, &step->left, element, &left) < 0)
        return -1;
    if (step->relation == FILTER_EXISTS) {
        *ret_matches = left.count > 0;
        return 0;
    }
    if (find_operand(search, &step->right, element, &right) < 0)
        return -1;
    if (left.count == 0 || right.count == 0)
        return 0;
    if (left.count > 1 || right.count > 1) {
        (void)error_set(search->err, ERROR_INVALID,
                        "a comparison needs one value on each side, got %zu and %zu", left.count,
                        right.count);
        return at_step(search, step);
    }
    if (compare(search, step, left.items[0], right.items[0], &order) < 0)
        return -1;
    *ret_matches = holds(step->relation, order);
    return 0;
}

static int take_filter(struct search *search, const struct step *step, const json_t *value,
                       struct values *ret)
{
    if (!json_is_array(value))
        return expected_list(search, step, value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *element = json_array_get(value, i);
        bool is_match = false;

        if (matches(search, step, element, &is_match) < 0 ||
            (is_match && add(search, ret, element) < 0))
            return -1;
    }
    return 0;
}

static int take_step(struct search *search, const struct step *step, const json_t *value,
                     struct values *ret)
{
    switch (step->kind) {
    case STEP_MEMBER:
        return take_member(search, step, value, ret);
    case STEP_ALL:
        return take_all(search, value, ret);
    case STEP_SLICE:
        return take_slice(search, step, value, ret);
    case STEP_FILTER:
        return take_filter(search, step, value, ret);
    case STEP_UNION: /* evaluate() applies it to all values at once */
    case STEP_DESCENT:
        break;
    }
    return descend(search, value, 0, ret);
}

/* Replaces the values by those that the steps find in them. */
static int evaluate(struct search *search, const struct step_list *steps, struct values *values,
                    enum jsonpath_missing missing)
{
    for (size_t i = 0; i < steps->count && values->count > 0; i++) {
        const struct step *step = &steps->items[i];
        cleanup_values struct values input = *values;

        *values = (struct values){0};
        if (step->kind == STEP_UNION && take_union(search, step, &input, missing, values) < 0)
            return -1;
        for (size_t j = 0; step->kind != STEP_UNION && j < input.count; j++) {
            if (take_step(search, step, input.items[j], values) < 0)
                return -1;
        }
        if (values->count == 0 && missing == JSONPATH_MISSING_IS_ERROR)
            return not_found(search, step, &input);
    }
    return 0;
}

int jsonpath_find(const struct jsonpath *path, const json_t *root, enum jsonpath_missing missing,
                  json_t **ret_values, struct error *err)
{
    struct search search = {.path = path, .visits_left = JSONPATH_VISITS_MAX, .err = err};
    cleanup_values struct values found = {0};
    json_t *array = NULL;

    if (add(&search, &found, root) < 0 || evaluate(&search, &path->steps, &found, missing) < 0)
        return -1;
    array = json_array();
    for (size_t i = 0; i < found.count; i++)
        (void)json_array_append(array, doc_writable(found.items[i]));
    *ret_values = array;
    return 0;
}
