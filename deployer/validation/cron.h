/* SPDX-License-Identifier: Apache-2.0 */
/* Cron expressions, as robfig/cron in Go parses them. */
#pragma once

#include <stdbool.h>

/* Five fields, optionally after TZ=zone or CRON_TZ=zone; or @daily, @every 5m ... */
bool cron_is_valid(const char *text);
