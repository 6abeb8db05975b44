/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "deployer/run/options.h"
#include "deployer/run/show.h"
#include "deployer/run/workspace.h"

/* Warns if the last run in this workspace was of another file: state belongs to namespace and name
 * of an item, as in a cluster, wherever its file is. */
void origin_check(struct workspace *workspace, const struct run_options *options,
                  struct show *show);
