/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "deployer/commands/commands.h"
#include "deployer/controller/setup.h"
#include "deployer/serve/daemon.h"

static void listen_addresses_are_parsed_or_refused(void **state)
{
    static const struct {
        const char *text, *host;
        int port; /* -1: refused */
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080},
        {":8080", "", 8080},
        {"8080", "", 8080},
        {"[::1]:9", "::1", 9},
        {"off", "", 0},
        {"0", "", 0},
        {"host:", NULL, -1},
        {"", NULL, -1},
        {"1.2.3.4:99999", NULL, -1},
        {"x:-1", NULL, -1},
        {"x: 1", NULL, -1},
        {"x:8a", NULL, -1},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *host = NULL;
        uint16_t port = 0;
        struct error err = {0};
        int result = address_parse(cases[i].text, &host, &port, &err);

        assert_int_equal(result, cases[i].port < 0 ? -1 : 0);
        if (result < 0)
            continue;
        assert_string_equal(host, cases[i].host);
        assert_int_equal(port, cases[i].port);
    }
}

static void signals_during_start_up_are_handled_by_the_loop(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
    char program[] = "longshore", wrong[] = "--no-such-option";
    char *arguments[] = {program, wrong, NULL};
    sigset_t before, now;

    (void)state;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
    /* It ends after parsing its options. */
    assert_int_equal(controller_main(2, arguments), EXIT_USAGE);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, &now), 0);
    for (size_t i = 0; i < array_length(signals); i++) {
        assert_int_equal(sigismember(&before, signals[i]), 0);
        assert_int_equal(sigismember(&now, signals[i]), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_during_start_up_are_handled_by_the_loop),
        cmocka_unit_test(listen_addresses_are_parsed_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
