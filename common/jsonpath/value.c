/* SPDX-License-Identifier: Apache-2.0 */
#include "common/jsonpath/value.h"

#include <string.h>

#include "common/data/doc.h"

enum { BYTES_PER_VISIT = 256 };

static int compare_integer_with_real(json_int_t integer, double real)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    json_int_t whole = 0;
    double fraction = 0;

    if (real >= limit)
        return -1;
    if (real < -limit)
        return 1;
    whole = (json_int_t)real;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    fraction = real - (double)whole;
    return (fraction < 0) - (fraction > 0);
}

int value_compare_numbers(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b))
        return (json_integer_value(a) > json_integer_value(b)) -
               (json_integer_value(a) < json_integer_value(b));
    if (json_is_integer(a))
        return compare_integer_with_real(json_integer_value(a), json_real_value(b));
    if (json_is_integer(b))
        return -compare_integer_with_real(json_integer_value(b), json_real_value(a));
    return (json_real_value(a) > json_real_value(b)) - (json_real_value(a) < json_real_value(b));
}

static bool spend(size_t *visits_left, size_t cost)
{
    if (*visits_left <= cost) {
        *visits_left = 0;
        return false;
    }
    *visits_left -= cost;
    return true;
}

static bool equal_lists(const json_t *a, const json_t *b, size_t *visits_left)
{
    size_t count = json_array_size(a);

    if (count != json_array_size(b))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!value_equal(json_array_get(a, i), json_array_get(b, i), visits_left))
            return false;
    }
    return true;
}

static bool equal_objects(const json_t *a, const json_t *b, size_t *visits_left)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (json_object_size(a) != json_object_size(b))
        return false;
    doc_foreach(a, key, value)
    {
        const json_t *other = json_object_get(b, key);

        if (!other || !value_equal(value, other, visits_left))
            return false;
    }
    return true;
}

bool value_equal(const json_t *a, const json_t *b, size_t *visits_left)
{
    if (!spend(visits_left, 1))
        return false;
    if (json_is_number(a) && json_is_number(b))
        return value_compare_numbers(a, b) == 0;
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_string(a)) {
        size_t size = json_string_length(a);

        return size == json_string_length(b) && spend(visits_left, size / BYTES_PER_VISIT) &&
               memcmp(json_string_value(a), json_string_value(b), size) == 0;
    }
    if (json_is_array(a))
        return equal_lists(a, b, visits_left);
    if (json_is_object(a))
        return equal_objects(a, b, visits_left);
    return true; /* true, false and null are types of their own */
}
