/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore agent --check`. */
#pragma once

#include <stdio.h>

#include "deployer/agent/agent.h"

/* Asks both API servers with SelfSubjectAccessReviews for every permission that the agent needs,
 * and Landscaper's for the definition of Environments, and prints a table. Fails if something is
 * missing or a server cannot be asked. Runs the loop. */
int agent_check(struct agent *agent, FILE *file, struct error *err) must_check;
