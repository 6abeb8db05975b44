/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of an item's last job with their times, for the status page. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "deployer/status/view.h"

/* [{"name", "state", "startedAt"?, "finishedAt"?, "detail"?}]: pick-up, scheduling, init, main,
 * wait, export; for items that do not run as a pod: pick-up, apply. Empty without a job. New
 * reference. */
json_t *items_timeline(const json_t *item, const struct view *view);
