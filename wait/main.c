/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory_trim.h"
#include "common/base/process.h"
#include "common/command_line/table.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "common/sandbox/sandbox.h"
#include "wait/life.h"

enum { EXIT_USAGE = 2 };

/* Opened before the sandbox is entered. Missing outside of a pod: then the message is only logged.
 */
static int open_termination_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, (mode_t)0644);

    if (fd < 0)
        log_debug("could not open the termination log", log_text("path", path),
                  log_text("error", strerror(errno)));
    return fd;
}

static void write_termination_log(int fd, const char *message)
{
    size_t size = strnlen(message, VERDICT_MESSAGE_MAX);

    if (fd >= 0)
        (void)!write(fd, message, size);
}

static int fail(const struct error *err)
{
    log_error("wait failed", log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)));
    return err->kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
}

static int run(const struct settings *settings)
{
    cleanup_close int termination_fd = open_termination_log(settings->termination_log);
    struct verdict verdict = {0};
    struct error err = {0};

    if (life_run(settings, clock_system(), &verdict, &err) < 0) {
        write_termination_log(termination_fd, err.text);
        return fail(&err);
    }
    if (verdict.exit_code == 0) {
        log_info("done", log_text("result", verdict.message));
        return EXIT_SUCCESS;
    }
    log_error("run failed", log_text("result", verdict.message));
    write_termination_log(termination_fd, verdict.message);
    return verdict.exit_code;
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    struct error err = {0};

    sandbox_no_core();
    memory_trim_set_up();
    process_prepare();
    doc_setup();
    log_configure("longshore-wait", LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    if (settings_read(argc, argv, &settings, &err) < 0)
        return fail(&err);
    log_configure("longshore-wait", settings.log_level, settings.log_format);
    if (settings.is_help) {
        options_print_help(&COMMAND_WAIT, stdout);
        return EXIT_SUCCESS;
    }
    if (settings.is_version) {
        (void)printf("longshore-wait %s\n", LONGSHORE_VERSION);
        return EXIT_SUCCESS;
    }
    return run(&settings);
}
