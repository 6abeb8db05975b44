/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process has every permission that the controller needs, on both clusters, and
 * whether Landscaper's CustomResourceDefinitions are installed. Permissions are asked for with
 * SelfSubjectAccessReviews, which every account may create, one after the other. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "deployer/controller/clusters.h"
#include "deployer/controller/setup.h"

struct check;

/* Called once from the loop, when every question is answered or has failed. */
typedef void check_done_fn(void *data);

/* Starts to ask. clusters, config and pod_namespace are borrowed until check_free(), which also
 * cancels a check that is not done. on_done may free the check. */
struct check *check_start(const struct clusters *clusters, const struct deployer_config *config,
                          const char *pod_namespace, check_done_fn *on_done, void *data);
void check_free(struct check *check); /* NULL is fine */

/* Logs one line for each missing permission and CustomResourceDefinition, and one if something
 * could not be verified. */
void check_log(const struct check *check);
/* Prints a table of everything that was asked for. True if nothing is missing or unknown. */
bool check_print(const struct check *check, FILE *file);

/* `longshore controller --check`: connects, asks and prints. *ret_is_complete: nothing is missing.
 * Fails if a kubeconfig can't be used. */
int check_run(const struct controller_options *options, struct deployer_config *config, FILE *file,
              bool *ret_is_complete, struct error *err) must_check;
