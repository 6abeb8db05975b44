/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore run`: loads the documents, executes the run in namespaces of its own, and reports its
 * result. */
#include "deployer/run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/terminal.h"
#include "common/command_line/table.h"
#include "common/data/doc.h"
#include "deployer/run/documents.h"
#include "deployer/run/execution.h"
#include "deployer/run/local_apply.h"
#include "deployer/run/namespace.h"
#include "deployer/run/options.h"
#include "deployer/run/outcome.h"
#include "deployer/run/result.h"

struct arguments {
    const struct run_options *options;
    struct documents *documents;
    int result_fd;
};

/* ---- Interrupts while the documents are loaded, which may take long with --from-cluster. ---- */

static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};

static void on_interrupt(int signal_number)
{
    static const char message[] = "longshore run: interrupted\n";

    (void)signal_number;
    (void)!write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(RESULT_EXIT_INTERRUPTED);
}

static void on_interrupt_json(int signal_number)
{
    (void)!write(STDOUT_FILENO, RESULT_INTERRUPTED_JSON, strlen(RESULT_INTERRUPTED_JSON));
    on_interrupt(signal_number);
}

static void handle_interrupts(void (*handler)(int signal_number))
{
    for (size_t i = 0; i < array_length(interrupts); i++) {
        /* A caller that ignores a signal, such as nohup, wants us to ignore it as well. */
        if (signal(interrupts[i], handler) == SIG_IGN)
            (void)signal(interrupts[i], SIG_IGN);
    }
}

static void block_interrupts(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < array_length(interrupts); i++)
        (void)sigaddset(&set, interrupts[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Afterwards interrupts are blocked: the run waits for them itself, and a result that is being
 * printed must not be followed by a second one. */
static int load_documents(const struct run_options *options, struct documents **ret_documents,
                          struct error *err)
{
    int result = 0;

    handle_interrupts(options->output == RUN_OUTPUT_JSON ? on_interrupt_json : on_interrupt);
    result = documents_load(options, ret_documents, err);
    block_interrupts();
    handle_interrupts(SIG_DFL);
    return result;
}

/* ---- The run. ---- */

/* In the child. */
static int run_in_namespaces(void *data, const struct error *failure)
{
    const struct arguments *arguments = data;
    cleanup_json json_t *result = result_new(arguments->options->operation);
    struct error err = {0};

    if (failure)
        result_fail(result, RESULT_FAILED, failure->text);
    else
        execution_run(arguments->options, arguments->documents, result);
    return result_write(arguments->result_fd, result, &err) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(const struct run_options *options, struct documents *documents, json_t *result,
               struct error *err)
{
    cleanup_close int result_fd = result_open(err);
    struct arguments arguments = {
        .options = options, .documents = documents, .result_fd = result_fd};
    int ignored = 0;

    if (result_fd < 0)
        return -1;
    documents->is_unprivileged = geteuid() != 0;
    if (namespace_run(&(struct namespace_options){.has_terminal = options->is_shell,
                                                  .main = run_in_namespaces,
                                                  .data = &arguments},
                      &ignored, err) < 0)
        return -1;
    return result_read(result_fd, result, err);
}

static int check_terminal(const struct run_options *options, struct error *err)
{
    if (!options->is_shell || (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "option --shell needs a terminal, but standard input or output is not one");
}

/* *ret_out_fd is the directory of --out, also after a failure; it stays -1 without one. */
static int perform(const struct run_options *options, int *ret_out_fd, json_t *result,
                   struct error *err)
{
    cleanup_documents struct documents *documents = NULL;

    if (check_terminal(options, err) < 0)
        return -1;
    if (options->out && (*ret_out_fd = outcome_open(options->out, err)) < 0)
        return -1;
    if (load_documents(options, &documents, err) < 0)
        return -1;
    if (documents->is_manifest) {
        local_apply_run(options, &documents->manifest, NULL, result);
        return 0;
    }
    if (run(options, documents, result, err) < 0)
        return -1;
    if (documents->helm.is_item)
        local_helm_finish(options, &documents->helm, &documents->offline, &documents->manifest,
                          result);
    return 0;
}

/* ---- The report. ---- */

static void complain(const struct error *err)
{
    static const char program[] = "longshore run: ";
    struct terminal terminal = {0};

    terminal_init(&terminal, stderr);
    (void)fputs(program, stderr);
    terminal_print(&terminal, err->text, strlen(program), 2);
}

static void write_out(int out_fd, json_t *result)
{
    struct error err = {0};

    if (out_fd < 0 || outcome_write(out_fd, result, &err) == 0)
        return;
    complain(&err);
    if (result_is_success(result))
        result_fail(result, RESULT_FAILED, err.text);
}

int run_main(int argc, char **argv)
{
    cleanup_json json_t *result = NULL;
    cleanup_close int out_fd = -1;
    struct run_options options = {0};
    struct error err = {0};
    int failed = run_options_parse(argc, argv, &options, &err);

    if (failed == 0 && options.is_help) {
        options_print_help(&COMMAND_RUN, stdout);
        run_options_done(&options);
        return EXIT_SUCCESS;
    }
    result = result_new(options.operation);
    if (failed == 0)
        failed = perform(&options, &out_fd, result, &err);
    if (failed) {
        result_fail(result, err.kind == ERROR_INVALID ? RESULT_INVALID : RESULT_FAILED, err.text);
        complain(&err);
    }
    write_out(out_fd, result);
    if (options.output == RUN_OUTPUT_JSON)
        result_print_json(result);
    else if (!failed)
        result_print_text(result);
    run_options_done(&options);
    return result_exit_code(result);
}
