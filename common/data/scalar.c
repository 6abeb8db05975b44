/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/scalar.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/base/memory.h"

static const struct {
    const char *text;
    enum scalar_type type;
    bool boolean;
} words[] = {
    {"", SCALAR_NULL, false},
    {"~", SCALAR_NULL, false},
    {"null", SCALAR_NULL, false},
    {"Null", SCALAR_NULL, false},
    {"NULL", SCALAR_NULL, false},
    {"true", SCALAR_BOOLEAN, true},
    {"True", SCALAR_BOOLEAN, true},
    {"TRUE", SCALAR_BOOLEAN, true},
    {"false", SCALAR_BOOLEAN, false},
    {"False", SCALAR_BOOLEAN, false},
    {"FALSE", SCALAR_BOOLEAN, false},
    {"y", SCALAR_BOOLEAN, true},
    {"Y", SCALAR_BOOLEAN, true},
    {"yes", SCALAR_BOOLEAN, true},
    {"Yes", SCALAR_BOOLEAN, true},
    {"YES", SCALAR_BOOLEAN, true},
    {"on", SCALAR_BOOLEAN, true},
    {"On", SCALAR_BOOLEAN, true},
    {"ON", SCALAR_BOOLEAN, true},
    {"n", SCALAR_BOOLEAN, false},
    {"N", SCALAR_BOOLEAN, false},
    {"no", SCALAR_BOOLEAN, false},
    {"No", SCALAR_BOOLEAN, false},
    {"NO", SCALAR_BOOLEAN, false},
    {"off", SCALAR_BOOLEAN, false},
    {"Off", SCALAR_BOOLEAN, false},
    {"OFF", SCALAR_BOOLEAN, false},
    {".nan", SCALAR_NOT_FINITE, false},
    {".NaN", SCALAR_NOT_FINITE, false},
    {".NAN", SCALAR_NOT_FINITE, false},
    {".inf", SCALAR_NOT_FINITE, false},
    {".Inf", SCALAR_NOT_FINITE, false},
    {".INF", SCALAR_NOT_FINITE, false},
    {"+.inf", SCALAR_NOT_FINITE, false},
    {"+.Inf", SCALAR_NOT_FINITE, false},
    {"+.INF", SCALAR_NOT_FINITE, false},
    {"-.inf", SCALAR_NOT_FINITE, false},
    {"-.Inf", SCALAR_NOT_FINITE, false},
    {"-.INF", SCALAR_NOT_FINITE, false},
};

enum { WORD_MAX = 5 };

static size_t count_digits(const char *text, int base)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    if (base == 16)
        return strspn(text, digits);
    return strspn(text, base == 2 ? "01" : base == 8 ? "01234567" : "0123456789");
}

/* The prefixes of Go: 0x, 0o, 0b, and a leading 0 for octal. Returns the first digit. */
static const char *read_base(const char *text, int *ret_base)
{
    *ret_base = 10;
    if (text[0] != '0' || !text[1])
        return text;
    switch (text[1]) {
    case 'x':
    case 'X':
        *ret_base = 16;
        return text + 2;
    case 'o':
    case 'O':
        *ret_base = 8;
        return text + 2;
    case 'b':
    case 'B':
        *ret_base = 2;
        return text + 2;
    default:
        *ret_base = 8;
        return text + 1;
    }
}

static bool read_integer(const char *text, struct scalar *ret_scalar)
{
    bool is_negative = text[0] == '-';
    const char *unsigned_text = text + (text[0] == '-' || text[0] == '+');
    int base = 10;
    const char *digits = read_base(unsigned_text, &base);
    size_t count = count_digits(digits, base);
    uint64_t value = 0;
    double real = 0;

    if (count == 0 || digits[count])
        return false;
    for (size_t i = 0; i < count; i++) {
        char letter = digits[i];
        int digit = letter <= '9' ? letter - '0' : (letter | 0x20) - 'a' + 10;

        /* Past 64 bits, value has overflowed and real is used instead. */
        value = value * (uint64_t)base + (uint64_t)digit;
        real = real * base + digit;
    }
    if (real < 9.0e18 || (real < 1.0e19 && value <= (uint64_t)INT64_MAX + is_negative)) {
        ret_scalar->type = SCALAR_INTEGER;
        ret_scalar->integer = (int64_t)(is_negative ? 0 - value : value);
        return true;
    }
    /* strtod() rounds once; the sum above rounds at every digit. */
    ret_scalar->real = base == 10 ? strtod(text, NULL) : is_negative ? -real : real;
    ret_scalar->type = isfinite(ret_scalar->real) ? SCALAR_REAL : SCALAR_STRING;
    return true;
}

/* [-+]? ( .digits | digits [. digits*] ) [ e [-+]? digits ] */
static bool is_float(const char *text)
{
    size_t whole = 0;
    size_t fraction = 0;

    text += *text == '-' || *text == '+';
    whole = strspn(text, "0123456789");
    text += whole;
    if (*text == '.') {
        fraction = strspn(++text, "0123456789");
        text += fraction;
    }
    if (whole == 0 && fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        size_t exponent = 0;

        text++;
        text += *text == '-' || *text == '+';
        exponent = strspn(text, "0123456789");
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return !*text;
}

static bool read_float(const char *text, struct scalar *ret_scalar)
{
    double real = 0;

    if (!is_float(text))
        return false;
    real = strtod(text, NULL);
    if (!isfinite(real))
        return false;
    ret_scalar->type = SCALAR_REAL;
    ret_scalar->real = real;
    return true;
}

static bool has_inner_underscores(const char *text)
{
    for (const char *at = strchr(text, '_'); at; at = strchr(at + 1, '_')) {
        if (!(at[-1] >= '0' && at[-1] <= '9' && at[1] >= '0' && at[1] <= '9'))
            return false;
    }
    return true;
}

static char *without_underscores(const char *text, size_t length)
{
    char *plain = xcalloc(length + 1, 1);
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != '_')
            plain[used++] = text[i];
    }
    return plain;
}

struct scalar scalar_resolve(const char *text, size_t length)
{
    struct scalar scalar = {.type = SCALAR_STRING};
    cleanup_free char *plain = NULL;

    if (memchr(text, '\0', length))
        return scalar;
    for (size_t i = 0; length <= WORD_MAX && i < array_length(words); i++) {
        if (strcmp(text, words[i].text) == 0) {
            scalar.type = words[i].type;
            scalar.boolean = words[i].boolean;
            return scalar;
        }
    }
    /* Most scalars are words and cannot be numbers. */
    if (!strchr("+-.0123456789", *text) || strspn(text, "+-_.0123456789abcdefABCDEFxXoO") < length)
        return scalar;
    /* After a leading point, Go accepts underscores only between digits. */
    if (*text == '.' && !has_inner_underscores(text))
        return scalar;
    plain = without_underscores(text, length);
    if (!read_integer(plain, &scalar))
        (void)read_float(plain, &scalar);
    return scalar;
}
