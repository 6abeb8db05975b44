/* SPDX-License-Identifier: Apache-2.0 */
/* Man pages from the table, for groff and mandoc. */
#pragma once

#include <stdio.h>

#include "common/base/options.h"

/* The page of longshore for NULL or "longshore", of its command "run" or "longshore-run", of
 * longshore-init and longshore-wait with or without what stands before the dash. NULL: none such.
 */
const struct option_command *manual_find(const char *name);
void manual_print(const struct option_command *command, FILE *out);
