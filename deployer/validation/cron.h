/* SPDX-License-Identifier: Apache-2.0 */
/* Cron expressions, as robfig/cron in Go parses them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Five fields, optionally after TZ=zone or CRON_TZ=zone; or @daily, @every 5m ... */
bool cron_is_valid(const char *text);
/* Whether it is valid and names no time zone but UTC. */
bool cron_is_utc(const char *text);
/* The first time after this one, in UTC whatever zone the expression names; -1: there is none
 * within five years, or it is not valid. */
int64_t cron_next(const char *text, int64_t after_unix_ms);
