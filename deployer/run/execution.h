/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one run inside its namespaces: image, init, main and wait. */
#pragma once

#include <jansson.h>

#include "deployer/run/documents.h"
#include "deployer/run/options.h"

/* Must be called as process 1 of the namespaces. Shows the progress and sets the fields of result
 * (result.h), whatever happens. */
void execution_run(const struct run_options *options, struct documents *documents, json_t *result);
