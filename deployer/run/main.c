/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore run`: loads the documents, then executes the run in namespaces of its own. */
#include "deployer/run/run.h"

#include <stdio.h>
#include <unistd.h>

#include "common/command_line/table.h"
#include "deployer/run/documents.h"
#include "deployer/run/execution.h"
#include "deployer/run/namespace.h"
#include "deployer/run/options.h"

struct arguments {
    const struct run_options *options;
    struct documents *documents;
};

static int run_in_namespaces(void *data)
{
    const struct arguments *arguments = data;

    return execution_run(arguments->options, arguments->documents);
}

static int fail(const struct error *err)
{
    (void)fprintf(stderr, "longshore run: %s\n", err->text);
    return err->kind == ERROR_INVALID ? 2 : RUN_EXIT_FAILED;
}

int run_main(int argc, char **argv)
{
    struct run_options options = {0};
    struct error err = {0};
    struct documents *documents = NULL;
    struct arguments arguments = {0};
    int code = 0;

    if (run_options_parse(argc, argv, &options, &err) < 0)
        return fail(&err);
    if (options.is_help) {
        options_print_help(&COMMAND_RUN, stdout);
        run_options_done(&options);
        return 0;
    }
    if (documents_load(&options, &documents, &err) < 0) {
        run_options_done(&options);
        return fail(&err);
    }
    documents->is_unprivileged = geteuid() != 0;
    arguments = (struct arguments){.options = &options, .documents = documents};
    if (namespace_run(&(struct namespace_options){.has_terminal = options.is_shell,
                                                  .main = run_in_namespaces,
                                                  .data = &arguments},
                      &code, &err) < 0)
        code = fail(&err);
    documents_free(documents);
    run_options_done(&options);
    return code;
}
