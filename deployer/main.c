/* SPDX-License-Identifier: Apache-2.0 */
/* longshore: the controller and the command line, one program with subcommands. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/data/doc.h"
#include "deployer/commands/commands.h"

/* The name under which the Go deployer's image starts its controller. */
#define CONTROLLER_PROGRAM "container-deployer-controller"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", run_main, "run a DeployItem on this machine, without a cluster"},
    {"validate", validate_main, "name every mistake in DeployItems, with its path"},
    {"render", render_main, "print every object that the controller would make for a DeployItem"},
    {"controller", controller_main, "turn the DeployItems of a Landscaper into pods"},
    {"version", version_main, "print the version"},
};

static void print_help(FILE *out)
{
    (void)fprintf(out, "Usage: longshore COMMAND [OPTIONS]\n"
                       "A container deployer for Landscaper, in a cluster and without.\n"
                       "\nCommands:\n");
    for (size_t i = 0; i < array_length(commands); i++)
        (void)fprintf(out, "  %-12s%s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "\n'longshore COMMAND --help' tells more.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < array_length(commands); i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* "help run" is "run --help". */
static int help(int argc, char **argv)
{
    const struct command *command = argc > 2 ? find_command(argv[2]) : NULL;
    char option[] = "--help";
    char *arguments[] = {argc > 2 ? argv[2] : NULL, option, NULL};

    if (command)
        return command->run(2, arguments);
    print_help(stdout);
    return EXIT_SUCCESS;
}

static bool is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int argc, char **argv)
{
    const struct command *command = NULL;

    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    if (argc > 0 && is_called(argv[0], CONTROLLER_PROGRAM) &&
        (command = find_command("controller")))
        return command->run(argc, argv);
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    command = find_command(argv[1]);
    if (command)
        return command->run(argc - 1, argv + 1);
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0)
        return version_main(1, argv);
    (void)fprintf(stderr, "longshore: '%s' is no command; see 'longshore --help'\n", argv[1]);
    return EXIT_USAGE;
}
