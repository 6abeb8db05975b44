/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes of a state become Events, and how many of them may be sent. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The members of an Event about a new status of a Kyma or Manifest, {"type", "reason", "message"},
 * a new reference; NULL: the change is not worth one. An installation or update passes through
 * Processing, and a Manifest that is Ready shows in its Kyma: a roll-out to many clusters must not
 * write more Events than statuses. */
json_t *state_event(const char *kind, const json_t *old_status, const json_t *new_status);

/* At most burst Events at once, and then one in each interval. *next_ms is 0 at first. Counts the
 * Event if it may be sent. */
bool event_is_allowed(uint64_t *next_ms, uint64_t now_ms, uint32_t interval_ms, uint32_t burst);
