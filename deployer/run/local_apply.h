/* SPDX-License-Identifier: Apache-2.0 */
/* A local run of a manifest item: does what the controller would do with it, in the same stages and
 * with the same code, and stores the list of applied objects in the item's state directory. */
#pragma once

#include <jansson.h>

#include "deployer/offline/manifest.h"
#include "deployer/run/options.h"

/* Sets every field of result (result.h). Shows its progress on stderr. SIGINT, SIGTERM and SIGHUP
 * must be blocked; each of them ends the run. Takes the access configurations of manifest.
 * observed: NULL, or what somebody else has applied, which is only waited for; taken over. */
void local_apply_run(const struct run_options *options, struct offline_manifest *manifest,
                     struct inventory *observed, json_t *result);
