/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/serve/command.h"

#include <stdio.h>

#include "common/base/log.h"
#include "common/command_line/logging.h"
#include "common/sandbox/sandbox.h"
#include "deployer/exit_codes.h"
#include "deployer/serve/daemon.h"

int daemon_fail(const struct daemon_command *command, const struct error *err)
{
    log_error(command->on_failure, log_text("error", err->text),
              log_text("kind", error_kind_name(err->kind)));
    return err->kind == ERROR_INVALID ? EXIT_USAGE : EXIT_FAILURE;
}

int daemon_begin(const struct daemon_command *command, int argc, char **argv)
{
    enum log_level level = LOG_LEVEL_INFO;
    enum log_format format = LOG_FORMAT_JSON;
    struct error err = {0};
    int first = 0;

    daemon_block_signals();
    sandbox_no_core();
    log_configure(command->log_name, level, format);
    if (options_parse(command->options, argc, argv, command->values, &first, &err) < 0 ||
        log_values_read(command->log, &level, &format, &err) < 0)
        return daemon_fail(command, &err);
    log_configure(command->log_name, level, format);
    if (*command->is_help) {
        options_print_help(command->options, stdout);
        return EXIT_SUCCESS;
    }
    if (command->is_version && *command->is_version) {
        (void)printf("%s\n", command->version);
        return EXIT_SUCCESS;
    }
    if (first < argc) {
        (void)error_set(&err, ERROR_INVALID, "unexpected argument \"%s\"", argv[first]);
        return daemon_fail(command, &err);
    }
    return DAEMON_GO_ON;
}
