/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/failure.h"

static void errors_have_classes(void **state)
{
    static const struct {
        enum error_kind kind;
        int status;
        enum failure_class class;
    } rows[] = {
        {ERROR_TEMPORARY, 500, FAILURE_OBJECT}, {ERROR_NONE, 0, FAILURE_NONE},
        {ERROR_TEMPORARY, 0, FAILURE_NETWORK},  {ERROR_DENIED, 401, FAILURE_UNAUTHORIZED},
        {ERROR_DENIED, 403, FAILURE_OBJECT},    {ERROR_NOT_FOUND, 404, FAILURE_OBJECT},
        {ERROR_CONFLICT, 409, FAILURE_OBJECT},  {ERROR_INVALID, 422, FAILURE_OBJECT},
        {ERROR_TEMPORARY, 429, FAILURE_BUSY},   {ERROR_TEMPORARY, 503, FAILURE_BUSY},
        {ERROR_INVALID, 0, FAILURE_CONTENT},    {ERROR_NOT_FOUND, 0, FAILURE_OBJECT},
        {ERROR_CANCELLED, 0, FAILURE_BUSY},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        const struct error err = {.kind = rows[i].kind, .http_status = rows[i].status};

        if (failure_classify(&err) != rows[i].class)
            fail_msg("row %zu", i);
    }
}

/* docs/lifecycle.md promises these delays, and metrics have these names. */
static void classes_have_names_and_delays(void **state)
{
    enum { SECOND = 1000, MINUTE = 60 * SECOND };
    static const struct {
        const char *name;
        uint32_t first_ms, max_ms;
    } expected[FAILURE_COUNT] = {
        [FAILURE_NONE] = {"none", 0, 0},
        [FAILURE_NETWORK] = {"network", 5 * SECOND, 5 * MINUTE},
        [FAILURE_UNAUTHORIZED] = {"unauthorized", 5 * SECOND, 5 * MINUTE},
        [FAILURE_OBJECT] = {"object", 30 * SECOND, 10 * MINUTE},
        [FAILURE_BUSY] = {"busy", 1 * SECOND, 1 * MINUTE},
        [FAILURE_CONTENT] = {"content", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_length(expected); i++) {
        uint32_t first_ms = 1, max_ms = 1;

        failure_delays((enum failure_class)i, &first_ms, &max_ms);
        assert_string_equal(failure_name((enum failure_class)i), expected[i].name);
        assert_int_equal(first_ms, expected[i].first_ms);
        assert_int_equal(max_ms, expected[i].max_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_classes),
        cmocka_unit_test(classes_have_names_and_delays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
