/* SPDX-License-Identifier: Apache-2.0 */
/* Man pages for groff and mandoc, generated from the option table. */
#pragma once

#include <stdio.h>

#include "common/base/options.h"

/* Finds the command of a page: longshore for NULL or "longshore"; its command run for "run" or
 * "longshore-run"; longshore-init for "init" or "longshore-init", and likewise wait. NULL if there
 * is no such page. */
const struct option_command *manual_find(const char *name);
void manual_print(const struct option_command *command, FILE *out);
