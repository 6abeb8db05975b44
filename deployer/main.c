/* SPDX-License-Identifier: Apache-2.0 */
/* longshore: one program with subcommands, among them the controller. */
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/process.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/agent/main.h"
#include "deployer/commands/commands.h"
#include "deployer/lifecycle/lifecycle.h"
#include "deployer/module_plan/module_plan.h"
#include "deployer/registrations/registrations.h"
#include "deployer/run/run.h"

/* The name of the controller in images of the Go deployer; charts start it by this name. */
#define CONTROLLER_PROGRAM "container-deployer-controller"
#define AGENT_PROGRAM "landscaper-agent" /* the same for the agent of Landscaper v0.98 */

static int help_main(int argc, char **argv);

static int lifecycle_command(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], LIFECYCLE_PLAN) == 0 ? module_plan_main(argc, argv)
                                                            : lifecycle_main(argc, argv);
}

/* The function of each command. */
static const struct runner {
    const struct option_command *command;
    int (*run)(int argc, char **argv);
} runners[] = {
    {&COMMAND_RUN, run_main},
    {&COMMAND_VALIDATE, validate_main},
    {&COMMAND_RENDER, render_main},
    {&COMMAND_DIFF, diff_main},
    {&COMMAND_CONTROLLER, controller_main},
    {&COMMAND_REGISTRATIONS, registrations_main},
    {&COMMAND_LIFECYCLE, lifecycle_command},
    {&COMMAND_AGENT, agent_main},
    {&COMMAND_STATUS, status_main},
    {&COMMAND_LOGS, logs_main},
    {&COMMAND_SCHEMA, schema_main},
    {&COMMAND_VERSION, version_main},
    {&COMMAND_COMPLETION, completion_main},
    {&COMMAND_MAN, man_main},
    {&COMMAND_HELP, help_main},
};

static const struct runner *find_runner(const char *name)
{
    for (size_t i = 0; i < array_length(runners); i++) {
        if (strcmp(option_command_name(runners[i].command), name) == 0)
            return &runners[i];
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    struct error err = {0};

    (void)!option_refuse_command(&COMMAND_LONGSHORE, name, &err);
    (void)fprintf(stderr, "longshore: %s\n", err.text);
    return EXIT_USAGE;
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
        return refuse_command(name);
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

/* Options before a command are those of the program itself. */
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

    process_prepare();
    doc_setup();
    if (argc > 0 && is_called(argv[0], CONTROLLER_PROGRAM))
        return controller_main(argc, argv);
    if (argc > 0 && is_called(argv[0], AGENT_PROGRAM))
        return agent_main(argc, argv);
    if (argc < 2) {
        options_print_help(&COMMAND_LONGSHORE, stderr);
        return EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return answer_option(argv);
    runner = find_runner(argv[1]);
    if (runner)
        return runner->run(argc - 1, argv + 1);
    return refuse_command(argv[1]);
}
