/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "deployer/page/host.h"

static void only_addresses_and_localhost_are_accepted(void **state)
{
    static const struct {
        const char *host;
        bool is_address;
    } cases[] = {
        {"127.0.0.1:8080", true},
        {"10.1.2.3", true},
        {"localhost:8080", true},
        {"LocalHost", true},
        {"[::1]:8080", true},
        {"[fd00::1]", true},
        {"", false},
        {NULL, false},
        {"attacker.example:8080", false},
        {"[::1", false},
        {"[attacker]:80", false},
        {"localhost.attacker.example", false},
        {"127.0.0.1.x", false},
        {"[::1]attacker", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++)
        assert_int_equal(host_is_address(cases[i].host), cases[i].is_address);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_addresses_and_localhost_are_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
