/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of longshore. Each takes its own name as argv[0], prints its errors itself and
 * returns the exit code: 0 done, 1 failed, 2 wrong usage or a wrong document. */
#pragma once

#include "deployer/commands/exit.h"

int validate_main(int argc, char **argv);
int render_main(int argc, char **argv);
int version_main(int argc, char **argv);
int man_main(int argc, char **argv);
int completion_main(int argc, char **argv);
int controller_main(int argc, char **argv); /* deployer/controller/main.c */
int run_main(int argc, char **argv);        /* deployer/run/main.c */
