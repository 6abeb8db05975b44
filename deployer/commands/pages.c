/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore man` and `longshore completion`. */
#include <stdio.h>

#include "common/command_line/completion.h"
#include "common/command_line/manual.h"
#include "common/command_line/table.h"
#include "deployer/commands/commands.h"

static int fail(const struct option_command *command, const struct error *err)
{
    (void)fprintf(stderr, "%s: %s\n", command->program, err->text);
    return EXIT_USAGE;
}

/* Reads up to max (at most 2) operands of a command whose only option is --help, and prints the
 * help if it was given. */
static int read_operands(const struct option_command *command, int argc, char **argv, int max,
                         const char *ret_operands[2], bool *ret_is_help, struct error *err)
{
    struct plain_values values = {0};
    int first = 0;

    if (options_parse(command, argc, argv, &values, &first, err) < 0)
        return -1;
    *ret_is_help = values.is_help;
    if (values.is_help) {
        options_print_help(command, stdout);
        return 0;
    }
    if (argc - first > max)
        return error_set(err, ERROR_INVALID, "unexpected operand \"%s\"; see '%s --help'",
                         argv[first + max], command->program);
    for (int i = first; i < argc; i++)
        ret_operands[i - first] = argv[i];
    return 0;
}

static int finish(void)
{
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int man_main(int argc, char **argv)
{
    const struct option_command *page = NULL;
    const char *operands[2] = {NULL};
    struct error err = {0};
    bool is_help = false;

    if (read_operands(&COMMAND_MAN, argc, argv, 1, operands, &is_help, &err) < 0)
        return fail(&COMMAND_MAN, &err);
    if (is_help)
        return finish();
    page = manual_find(operands[0]);
    if (!page) {
        (void)!option_refuse_command(&COMMAND_LONGSHORE, operands[0], &err);
        return fail(&COMMAND_MAN, &err);
    }
    manual_print(page, stdout);
    return finish();
}

/* Programs have pages, too, but are not subcommands. */
static const struct option_command *find_program(const char *name)
{
    const struct option_command *found = manual_find(name);

    return found && option_command_name(found) == found->program ? found : NULL;
}

int completion_main(int argc, char **argv)
{
    const struct option_command *program = NULL;
    const char *operands[2] = {NULL};
    struct error err = {0};
    bool is_help = false;

    if (read_operands(&COMMAND_COMPLETION, argc, argv, 2, operands, &is_help, &err) < 0)
        return fail(&COMMAND_COMPLETION, &err);
    if (is_help)
        return finish();
    program = find_program(operands[1]);
    if (!program)
        (void)error_set(
            &err, ERROR_INVALID,
            "unknown program \"%s\"; expected longshore, longshore-init or longshore-wait",
            operands[1]);
    else if (!operands[0] || !completion_print(operands[0], program, stdout))
        (void)error_set(&err, ERROR_INVALID, "unknown shell; expected bash, zsh or fish");
    return err.kind == ERROR_NONE ? finish() : fail(&COMMAND_COMPLETION, &err);
}
