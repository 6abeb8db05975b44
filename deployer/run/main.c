/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore run`: reads and checks the documents as the user, then goes on inside the nest. */
#include "deployer/run/run.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/run/job.h"
#include "deployer/run/life.h"
#include "deployer/run/nest.h"
#include "deployer/run/options.h"

struct inside {
    const struct run_options *options;
    struct job *job;
};

static int live(void *data)
{
    const struct inside *inside = data;

    return life_run(inside->options, inside->job);
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
    struct job *job = NULL;
    struct inside inside = {0};
    int code = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    if (run_options_parse(argc, argv, &options, &err) < 0)
        return fail(&err);
    if (options.is_help) {
        options_print_help(&COMMAND_RUN, stdout);
        run_options_done(&options);
        return 0;
    }
    if (job_load(&options, &job, &err) < 0) {
        run_options_done(&options);
        return fail(&err);
    }
    job->is_plain_user = geteuid() != 0;
    inside = (struct inside){.options = &options, .job = job};
    if (nest_run(
            &(struct nest_options){.has_terminal = options.is_shell, .main = live, .data = &inside},
            &code, &err) < 0)
        code = fail(&err);
    job_free(job);
    run_options_done(&options);
    return code;
}
