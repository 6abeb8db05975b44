/* SPDX-License-Identifier: Apache-2.0 */
/* longshore-init: runs before the main container and writes its inputs to the shared volume.
 * Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 143 stopped by SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/process.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "init/failure.h"
#include "init/options.h"
#include "init/progress.h"
#include "init/setup.h"
#include "init/work.h"

enum { EXIT_CONFIGURATION = 2, EXIT_TERMINATED = 128 + SIGTERM };

/* init is process 1 of its container, and the kernel drops signals to process 1 that have no
 * handler. Every output is written under a temporary name and renamed, so that it is safe to stop
 * anywhere; there is nothing to clean up that the next start does not remove. */
static void on_sigterm(int signal_number)
{
    (void)signal_number;
    _exit(EXIT_TERMINATED);
}

static int run(const struct options *options, struct progress *progress, enum step *ret_step,
               struct error *err)
{
    cleanup_setup struct setup setup;

    setup_init(&setup);
    *ret_step = STEP_CONFIGURATION;
    if (setup_configure(&setup, options, err) < 0)
        return EXIT_CONFIGURATION;
    *ret_step = STEP_VOLUME;
    if (setup_open(&setup, options, progress, err) < 0)
        return EXIT_FAILURE;
    *ret_step = STEP_SANDBOX;
    if (setup_enter_sandbox(&setup, options, err) < 0)
        return EXIT_FAILURE;
    log_info("init started", log_text("version", LONGSHORE_VERSION),
             log_text("deployItem", options->item_name),
             log_text("namespace", options->item_namespace),
             log_text("landlock", setup.has_landlock ? "yes" : "no"));
    if (work_run(&setup, options, progress, ret_step, err) < 0)
        return EXIT_FAILURE;
    log_info("init finished");
    return EXIT_SUCCESS;
}

static void configure_log(const struct options *options)
{
    bool is_text = !options->is_format_given && isatty(STDERR_FILENO);

    log_configure("init", options->level, is_text ? LOG_FORMAT_TEXT : options->format);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct progress progress = {0};
    struct error err = {0};
    enum step step = STEP_CONFIGURATION;
    int message_fd = -1;
    int code = EXIT_CONFIGURATION;

    process_prepare();
    (void)signal(SIGTERM, on_sigterm);
    (void)umask(022);
    doc_setup();
    log_configure("init", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    progress_init(&progress, STDERR_FILENO, clock_system());
    if (options_from_arguments(argc, argv, &options, &err) == 0) {
        if (options.is_help_asked || options.is_version_asked) {
            if (options.is_help_asked)
                options_print_help(&COMMAND_INIT, stdout);
            else
                (void)printf("longshore-init %s\n", LONGSHORE_VERSION);
            return EXIT_SUCCESS;
        }
        configure_log(&options);
        if (options_from_environment(&options, &err) == 0) {
            message_fd = failure_open_message(options.termination_log);
            code = run(&options, &progress, &step, &err);
        } else {
            message_fd = failure_open_message(PATH_TERMINATION_LOG);
        }
    }
    if (code != EXIT_SUCCESS)
        failure_report(step, &err, message_fd);
    return code;
}
