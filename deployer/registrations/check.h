/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore registrations --check`. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/base/error.h"
#include "deployer/registrations/settings.h"

/* Asks the API server for every permission that is needed with
 * these options, and for everything else that has to
 * exist, and prints a table. *ret_is_complete: nothing is missing. Fails if the API server cannot
 * be asked. Runs its own event loop. */
int registrations_check_run(const struct settings *settings,
                            const struct registrations_values *values, FILE *file,
                            bool *ret_is_complete, struct error *err) must_check;
