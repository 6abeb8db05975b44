/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/terminal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"

static const struct {
    const char *type, *no_color; /* NULL: not set */
    bool is_terminal, has_color;
} cases[] = {
    {"xterm", NULL, true, true}, {"xterm", "", true, true},    {"xterm", "1", true, false},
    {NULL, NULL, true, true},    {"dumb", NULL, false, false},
};

static void set(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void a_terminal_has_colors_unless_the_environment_says_otherwise(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    FILE *stream = NULL;

    (void)state;
    assert_true(master >= 0);
    assert_int_equal(grantpt(master) | unlockpt(master), 0);
    stream = fopen(ptsname(master), "r+");
    assert_non_null(stream);
    for (size_t i = 0; i < array_length(cases); i++) {
        struct terminal terminal = {0};

        set("TERM", cases[i].type);
        set("NO_COLOR", cases[i].no_color);
        terminal_init(&terminal, stream);
        assert_int_equal(terminal.is_terminal, cases[i].is_terminal);
        assert_int_equal(terminal.has_color, cases[i].has_color);
        assert_int_equal(terminal.width, 80); /* a new one has no size */
        assert_int_equal(strlen(terminal_style(&terminal, TERMINAL_BAD)) > 0, cases[i].has_color);
    }
    (void)fclose(stream);
    (void)close(master);
}

static void a_terminal_has_its_own_width(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 24, .ws_col = 132};
    struct terminal terminal = {0};
    FILE *stream = NULL;

    (void)state;
    assert_true(master >= 0);
    assert_int_equal(grantpt(master) | unlockpt(master), 0);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
    stream = fopen(ptsname(master), "r+");
    assert_non_null(stream);
    terminal_init(&terminal, stream);
    assert_int_equal(terminal.width, 132);
    (void)fclose(stream);
    (void)close(master);
}

static void a_file_has_neither_colors_nor_a_width(void **state)
{
    struct terminal terminal = {0};
    FILE *stream = tmpfile();

    (void)state;
    set("TERM", "xterm");
    set("NO_COLOR", NULL);
    assert_non_null(stream);
    terminal_init(&terminal, stream);
    assert_false(terminal.is_terminal || terminal.has_color);
    assert_int_equal(terminal.width, 80);
    assert_string_equal(terminal_style(&terminal, TERMINAL_GOOD), "");
    (void)fclose(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_has_colors_unless_the_environment_says_otherwise),
        cmocka_unit_test(a_terminal_has_its_own_width),
        cmocka_unit_test(a_file_has_neither_colors_nor_a_width),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
