/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "init/failure.h"

static const struct {
    enum step step;
    struct error err;
    const char *advice; /* a part of it */
} cases[] = {
    {STEP_CONFIGURATION, {.kind = ERROR_INVALID}, "provider configuration"},
    {STEP_COMPONENTS, {.kind = ERROR_INVALID}, "repository context"},
    {STEP_COMPONENTS, {.kind = ERROR_NOT_FOUND, .http_status = 404}, "component name, version"},
    {STEP_COMPONENTS, {.kind = ERROR_DENIED, .http_status = 401}, "pull secrets"},
    {STEP_BLUEPRINT, {.kind = ERROR_DENIED, .http_status = 403}, "pull secrets"},
    /* A certificate that is not trusted. */
    {STEP_COMPONENTS, {.kind = ERROR_DENIED}, "certificate authority"},
    {STEP_COMPONENTS, {.kind = ERROR_TEMPORARY, .http_status = 503}, "LONGSHORE_INIT_DEADLINE"},
    {STEP_BLUEPRINT, {.kind = ERROR_TOO_LARGE}, "reduce its size"},
    {STEP_BLUEPRINT, {.kind = ERROR_INTERNAL, .os = ENOSPC}, "pod.sharedVolumeSizeLimit"},
    {STEP_STATE, {.kind = ERROR_DENIED, .os = EROFS}, "read-only"},
    {STEP_STATE, {.kind = ERROR_DENIED, .http_status = 403}, "role of the service account"},
    {STEP_STATE, {.kind = ERROR_INVALID}, "state Secrets"},
    {STEP_IMPORTS, {.kind = ERROR_DENIED, .os = EACCES}, "permissions of the volumes"},
    {STEP_TARGET, {.kind = ERROR_NOT_FOUND, .os = ENOENT}, "mounted"},
    {STEP_SANDBOX, {.kind = ERROR_INTERNAL}, "log of the init container"},
};

static void advice_fits_the_step_and_the_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const char *advice = failure_advice(cases[i].step, &cases[i].err);

        if (!strstr(advice, cases[i].advice))
            fail_msg("step %s: \"%s\" is not in \"%s\"", step_name(cases[i].step), cases[i].advice,
                     advice);
    }
}

static void the_message_has_step_reason_and_advice(void **state)
{
    struct error err = {.kind = ERROR_INVALID, .text = "importValues: invalid JSON"};
    char message[FAILURE_MESSAGE_MAX] = "";
    int ends[2];

    (void)state;
    log_configure("test", LOG_LEVEL_ERROR, LOG_FORMAT_JSON);
    assert_int_equal(pipe(ends), 0);
    failure_report(STEP_CONFIGURATION, &err, ends[1]);
    assert_true(read(ends[0], message, sizeof(message) - 1) > 0);
    assert_string_equal(message,
                        "init failed at step \"configuration\": importValues: invalid JSON; "
                        "correct the provider configuration of the item\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advice_fits_the_step_and_the_error),
        cmocka_unit_test(the_message_has_step_reason_and_advice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
