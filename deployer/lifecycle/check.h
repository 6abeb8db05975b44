/* SPDX-License-Identifier: Apache-2.0 */
/* `longshore lifecycle --check`. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/kube/client.h"

/* Asks the control plane for every permission and definition that the lifecycle manager needs, and
 * prints a table. *ret_is_complete: nothing is missing. Runs the loop. */
int lifecycle_check(struct kube *kube, const char *namespace_name, bool is_page_authenticated,
                    FILE *file, bool *ret_is_complete, struct error *err) must_check;
