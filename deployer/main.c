/* SPDX-License-Identifier: Apache-2.0 */
/* longshore: the controller and the command line, one program with subcommands. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"

/* The name under which the Go deployer's image starts its controller. */
#define CONTROLLER_PROGRAM "container-deployer-controller"

static int help_main(int argc, char **argv);

/* What runs a command of the table. */
static const struct runner {
    const struct option_command *command;
    int (*run)(int argc, char **argv);
} runners[] = {
    {&COMMAND_RUN, run_main},         {&COMMAND_VALIDATE, validate_main},
    {&COMMAND_RENDER, render_main},   {&COMMAND_CONTROLLER, controller_main},
    {&COMMAND_VERSION, version_main}, {&COMMAND_COMPLETION, completion_main},
    {&COMMAND_MAN, man_main},         {&COMMAND_HELP, help_main},
};

static const struct runner *find_runner(const char *name)
{
    for (size_t i = 0; i < array_length(runners); i++) {
        if (strcmp(option_command_name(runners[i].command), name) == 0)
            return &runners[i];
    }
    return NULL;
}

/* "help run" is "run --help". */
static int help_main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct runner *runner = find_runner(name);
    char option[] = "--help";
    char *arguments[] = {argv[0], option, NULL};

    if (runner && runner->run != help_main)
        return runner->run(2, arguments);
    if (runner || strcmp(name, option) == 0 || strcmp(name, "-h") == 0) {
        options_print_help(&COMMAND_HELP, stdout);
    } else if (*name) {
        (void)fprintf(stderr, "longshore: '%s' is no command; see 'longshore --help'\n", name);
        return EXIT_USAGE;
    } else {
        options_print_help(&COMMAND_LONGSHORE, stdout);
    }
    return EXIT_SUCCESS;
}

static bool is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, name) == 0;
}

/* Options of the program itself: what stands before a command. */
static int answer_option(char **argv)
{
    struct longshore_values values = {0};
    struct error err = {0};
    int first = 0;

    if (options_parse(&COMMAND_LONGSHORE, 2, argv, &values, &first, &err) < 0) {
        (void)fprintf(stderr, "longshore: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (values.is_version)
        return version_main(1, argv);
    options_print_help(&COMMAND_LONGSHORE, values.is_help ? stdout : stderr);
    return values.is_help ? EXIT_SUCCESS : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct runner *runner = NULL;

    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    if (argc > 0 && is_called(argv[0], CONTROLLER_PROGRAM))
        return controller_main(argc, argv);
    if (argc < 2) {
        options_print_help(&COMMAND_LONGSHORE, stderr);
        return EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return answer_option(argv);
    runner = find_runner(argv[1]);
    if (runner)
        return runner->run(argc - 1, argv + 1);
    (void)fprintf(stderr, "longshore: '%s' is no command; see 'longshore --help'\n", argv[1]);
    return EXIT_USAGE;
}
