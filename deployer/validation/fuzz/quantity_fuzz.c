/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a quantity is accepted if and only if the regular expression of the Kubernetes API
 * matches, it has no minus, and it is within the range of its exponents; its amount is the one
 * computed with strtold. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/fuzz/pattern.h"
#include "deployer/validation/quantity.h"

#define EXPRESSION                                                                                 \
    "^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?0*([0-9]|1[0-8]))$"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pattern grammar = {.expression = EXPRESSION};

static long double factor_of(const char *suffix)
{
    static const struct {
        const char *suffix, *factor;
    } factors[] = {
        {"", "1"},        {"n", "1e-9"},    {"u", "1e-6"},    {"m", "1e-3"},
        {"k", "1e3"},     {"M", "1e6"},     {"G", "1e9"},     {"T", "1e12"},
        {"P", "1e15"},    {"E", "1e18"},    {"Ki", "0x1p10"}, {"Mi", "0x1p20"},
        {"Gi", "0x1p30"}, {"Ti", "0x1p40"}, {"Pi", "0x1p50"}, {"Ei", "0x1p60"},
    };
    cleanup_free char *power = xasprintf("1%s", suffix);

    for (size_t i = 0; i < array_length(factors); i++) {
        if (strcmp(factors[i].suffix, suffix) == 0)
            return strtold(factors[i].factor, NULL);
    }
    return strtold(power, NULL);
}

static void check_amount(const char *text, long double amount)
{
    size_t digits = strspn(text, "+.0123456789");
    cleanup_free char *mantissa = xstrndup(text, digits);
    long double expected = strtold(mantissa, NULL) * factor_of(text + digits);
    long double error = amount > expected ? amount - expected : expected - amount;

    must(amount >= 0 && error <= expected * 1e-17L);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *text = xstrndup((const char *)data, size < 100 ? size : 100);
    long double amount = -1;
    bool is_quantity = quantity_parse(text, &amount);

    must(is_quantity == (strlen(text) <= 64 && pattern_matches(&grammar, text)));
    if (is_quantity)
        check_amount(text, amount);
    else
        must(amount == -1);
    return 0;
}
