/* SPDX-License-Identifier: Apache-2.0 */
/* Skipped tests that ctest reports as skipped. cmocka's own skip() alone counts as passed.
 *
 * A test program that uses it is registered with longshore_test(... MAY_SKIP) and ends with
 * `return skip_exit_code(cmocka_run_group_tests(...));`. Include after cmocka.h. */
#pragma once

#include <stdbool.h>

enum { SKIP_EXIT_CODE = 77 }; /* longshore_test() in CMakeLists.txt has it too */

static bool skip_has_skipped;

#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message("skipped: " __VA_ARGS__);                                                    \
        skip_has_skipped = true;                                                                   \
        skip();                                                                                    \
    } while (0)

/* A failure counts more than a skipped test. */
static inline int skip_exit_code(int failed)
{
    if (failed)
        return 1;
    return skip_has_skipped ? SKIP_EXIT_CODE : 0;
}
