/* SPDX-License-Identifier: Apache-2.0 */
/* The root Installation of an item, whose job new data needs. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/objects/late_change.h"

/* The owner reference that leads to the root: to an Execution or an Installation. NULL: there is
 * none. Borrowed. */
const json_t *late_root_owner(const json_t *object);
bool late_root_is_installation(const json_t *object);
/* LATE_TRIGGERED: a job may be triggered. Otherwise why not. */
enum late_verdict late_root_judge(const json_t *installation);
/* The text that the request which sets the annotation leaves behind. Belongs to the caller. */
char *late_root_mark(const struct late_memory *memory, const char *item_uid);
/* Whether the trigger with this mark, or a later one of another item, was sent. */
bool late_root_is_marked(const json_t *installation, const char *mark);
