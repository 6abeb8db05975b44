/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of longshore. argv[0] is the name of the subcommand. Each prints its own errors
 * and returns the exit code: 0 success, 1 failure, 2 usage error or invalid document. */
#pragma once

#include "deployer/exit_codes.h"

int validate_main(int argc, char **argv);
int render_main(int argc, char **argv);
int schema_main(int argc, char **argv);
int version_main(int argc, char **argv);
int man_main(int argc, char **argv);
int completion_main(int argc, char **argv);
int controller_main(int argc, char **argv); /* deployer/controller/main.c */
int diff_main(int argc, char **argv);       /* deployer/diff/main.c */
int status_main(int argc, char **argv);     /* deployer/status/main.c */
int logs_main(int argc, char **argv);       /* deployer/status/logs.c */
