/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The subcommand `longshore run`; argv[0] is its name. Prints its errors and returns the exit code.
 */
int run_main(int argc, char **argv);
