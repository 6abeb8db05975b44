/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/memory.h"
#include "deployer/status/hints.h"

/* No row is hidden by an earlier one. */
static void every_row_is_found_by_what_it_matches(void **state)
{
    size_t count = 0;

    (void)state;
    for (const struct hint *hint = NULL; (hint = hint_at(count)); count++) {
        cleanup_free char *message = xasprintf("before %s after", hint->text ? hint->text : "");
        const char *reason = hint->reason ? hint->reason : "Error";

        for (const char *next = reason; next;) {
            const char *bar = strchr(next, '|');
            cleanup_free char *word = bar ? xstrndup(next, (size_t)(bar - next)) : xstrdup(next);

            if (hint_find(hint->operation, word, message) != hint)
                fail_msg("row %zu (%s) is hidden", count, word);
            next = bar ? bar + 1 : NULL;
        }
    }
    assert_true(count > 50);
}

static const struct {
    const char *operation, *reason, *message, *cause; /* cause NULL: no hint */
} cases[] = {
    {"RunMainContainer", "ImagePullBackOff",
     "container main: ImagePullBackOff: rpc error: registry.example/a:1: Not Found",
     "the registry does not have this repository or tag"},
    {"RunMainContainer", "ErrImagePull",
     "failed to authorize: failed to fetch anonymous token: 401 Unauthorized",
     "the registry requires other credentials, or has no such repository"},
    {"RunMainContainer", "ErrImagePull", "dial tcp: lookup r.example: no such host",
     "the node cannot pull the image"},
    {"RunMainContainer", "OOMKilled", "container main: OOMKilled, exit code 137, signal 9",
     "the container used more memory than its limit"},
    {"RunMainContainer", "Error", "container main: Error, exit code 137, signal 9 (SIGKILL)",
     "main was killed, by the node or by its own container"},
    {"RunMainContainer", "Error", "container main: Error, exit code 3",
     "the program of the item failed"},
    {"RunPod", "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.",
     "no node has enough free resources for the requests of the pod"},
    {"X", "SomethingNew", "text", NULL},
    {NULL, NULL, NULL, NULL},
};

static void the_most_specific_row_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        const struct hint *hint = hint_find(cases[i].operation, cases[i].reason, cases[i].message);

        if (!cases[i].cause)
            assert_null(hint);
        else
            assert_string_equal(hint ? hint->cause : "none", cases[i].cause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_what_it_matches),
        cmocka_unit_test(the_most_specific_row_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
