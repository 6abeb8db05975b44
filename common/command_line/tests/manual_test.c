/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/command_line/manual.h"

struct values {
    const char *file;
    bool is_help;
};

static const struct option_row rows[] = {
    option_text_with("file", 'f', struct values, file, "FILE", ".a ~ 'b' \\c-d", "x y", "x"),
    option_flag("help", 0, struct values, is_help, "print this"),
    {0},
};
static const struct option_fact facts[] = {
    {"EXIT STATUS", "0", "done"}, {"EXIT STATUS", "2", "wrong"}, {"FILES", "/etc/x", "'x'"}, {0}};

static void a_page_has_all_sections_and_escapes_text(void **state)
{
    const struct option_command command = {.program = "longshore test",
                                           .brief = "test it",
                                           .synopsis = "[OPTIONS] FILE...",
                                           .summary = "Tests it",
                                           .rows = rows,
                                           .facts = facts};
    cleanup_free char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    manual_print(&command, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, ".TH LONGSHORE\\-TEST 1 \"\" \"longshore " LONGSHORE_VERSION
                              "\" \"Longshore\"\n"
                              ".SH NAME\nlongshore\\-test \\- test it\n"
                              ".SH SYNOPSIS\n\\fBlongshore test\\fR [OPTIONS] FILE...\n"
                              ".SH DESCRIPTION\nTests it.\n"
                              ".SH OPTIONS\n"
                              ".TP\n\\fB\\-f\\fR, \\fB\\-\\-file\\fR \\fIFILE\\fR\n"
                              "\\&.a \\(ti \\(aqb\\(aq \\ec\\-d: x or y (default x)\n"
                              ".TP\n\\fB\\-\\-help\\fR\nprint this\n"
                              ".SH EXIT STATUS\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB2\\fR\nwrong\n"
                              ".SH FILES\n.TP\n\\fB/etc/x\\fR\n\\&\\(aqx\\(aq\n"
                              ".SH SEE ALSO\n\\fBlongshore\\fR(1)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_all_sections_and_escapes_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
