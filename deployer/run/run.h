/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommand `longshore run`; argv[0] is its name. Returns the exit code. */
int run_main(int argc, char **argv);
