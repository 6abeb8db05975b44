/* SPDX-License-Identifier: Apache-2.0 */
/* e2e/ship/test_pages.py runs the scripts in real shells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/command_line/completion.h"

struct values {
    struct option_list files;
    const char *form;
    bool is_quiet;
};

static const struct option_row rows[] = {
    option_texts("file", 0, struct values, files, "FILE", "the item's"),
    option_choice("output", 'o', struct values, form, "FORM", "a [form]", "text json", "text"),
    option_flag("quiet", 'q', struct values, is_quiet, "say: nothing"),
    {0},
};
static const struct option_command program = {
    .program = "long-shore", .operand = "DIR", .rows = rows};

static char *printed(const char *shell)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_true(completion_print(shell, &program, out));
    assert_int_equal(fclose(out), 0);
    return text;
}

static void special_characters_of_help_texts_are_escaped(void **state)
{
    static const struct {
        const char *shell, *text;
    } cases[] = {
        {"bash", "    :--output | :-o) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "
                 "\"$current\"); return ;;\n"},
        {"bash", "complete -F _long_shore long-shore\n"},
        {"zsh", "'*'--file='[the item'\\''s]:FILE:_files'"},
        {"zsh", "'(-o --output)'{-o+,--output=}'[a \\[form\\]]:FORM:(text json)'"},
        {"zsh", "'(-q --quiet)'{-q,--quiet}'[say\\: nothing]'"},
        {"zsh", "'*:DIR:_files -/'"},
        {"fish", "complete -c long-shore -l file -r -F -d 'the item\\'s'\n"},
        {"fish", "complete -c long-shore -l output -s o -x -a 'text json' -d 'a [form]'\n"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *text = printed(cases[i].shell);

        if (!strstr(text, cases[i].text))
            fail_msg("%s: no '%s' in\n%s", cases[i].shell, cases[i].text, text);
    }
}

static void other_shells_are_refused(void **state)
{
    (void)state;
    assert_false(completion_print("tcsh", &program, stdout));
    assert_false(completion_print("", &program, stdout));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_characters_of_help_texts_are_escaped),
        cmocka_unit_test(other_shells_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
