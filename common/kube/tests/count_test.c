/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/kube/count.h"

static uint64_t number(const struct kube_counts *counts, const char *method, const char *code)
{
    for (size_t i = 0; i < KUBE_COUNT_METHODS; i++) {
        for (size_t j = 0; j < KUBE_COUNT_CODES; j++) {
            if (strcmp(kube_count_method(i), method) == 0 && strcmp(kube_count_code(j), code) == 0)
                return counts->numbers[i][j];
        }
    }
    fail_msg("no %s %s", method, code);
    return 0;
}

static void responses_are_counted_by_method_and_code(void **state)
{
    static const struct {
        const char *method;
        int status;
        const char *code;
    } cases[] = {
        {"GET", 200, "200"},   {"POST", 201, "201"},   {"PUT", 409, "409"},
        {"PATCH", 422, "422"}, {"DELETE", 504, "504"}, {"GET", 0, "<error>"},
    };
    struct kube_counts counts = {0};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        kube_counts_add(&counts, cases[i].method, cases[i].status);
        assert_int_equal(number(&counts, cases[i].method, cases[i].code), 1);
    }
}

static void unknown_codes_are_counted_as_other(void **state)
{
    struct kube_counts counts = {0};
    uint64_t sum = 0;

    (void)state;
    for (int status = -1000; status < 1000; status++)
        kube_counts_add(&counts, "GET", status);
    kube_counts_add(&counts, "BREW", 200);
    for (size_t i = 0; i < KUBE_COUNT_CODES; i++)
        sum += counts.numbers[0][i];
    assert_int_equal(sum, 2000);
    assert_int_equal(number(&counts, "GET", "other"), 2000 - (KUBE_COUNT_CODES - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_counted_by_method_and_code),
        cmocka_unit_test(unknown_codes_are_counted_as_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
