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
        {ERROR_NONE, 0, FAILURE_NONE},
        {ERROR_TEMPORARY, 0, FAILURE_NETWORK},
        {ERROR_DENIED, 401, FAILURE_UNAUTHORIZED},
        {ERROR_DENIED, 403, FAILURE_OBJECT},
        {ERROR_NOT_FOUND, 404, FAILURE_OBJECT},
        {ERROR_CONFLICT, 409, FAILURE_OBJECT},
        {ERROR_INVALID, 422, FAILURE_OBJECT},
        {ERROR_TEMPORARY, 429, FAILURE_BUSY},
        {ERROR_TEMPORARY, 503, FAILURE_BUSY},
        {ERROR_INVALID, 0, FAILURE_CONTENT},
        {ERROR_NOT_FOUND, 0, FAILURE_OBJECT},
        {ERROR_CANCELLED, 0, FAILURE_BUSY},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        const struct error err = {.kind = rows[i].kind, .http_status = rows[i].status};
        uint32_t first_ms = 0, max_ms = 0;

        if (failure_classify(&err) != rows[i].class)
            fail_msg("row %zu", i);
        failure_delays(rows[i].class, &first_ms, &max_ms);
        assert_true(first_ms <= max_ms);
        assert_non_null(failure_name(rows[i].class));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_have_classes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
