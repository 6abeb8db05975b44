/* SPDX-License-Identifier: Apache-2.0 */
/* Maintenance windows: when a module that needs a downtime may be updated in a cluster. Pure.
 *
 * The policy is JSON:
 *
 *     {"rules": [{"match": {"plan": "trial|free", "region": "eu-"},
 *                 "windows": [{"days": ["Sat", "Sun"], "begin": "20:00:00+01:00", "end":
 * "02:00:00+01:00"},
 *                             {"begin": "2026-12-08T20:00:00Z", "end": "2026-12-09T00:00:00Z"}]}],
 *      "default": {"days": ["Sun"], "begin": "02:00:00Z", "end": "06:00:00Z"}}
 *
 * A rule matches if one of its regular expressions (POSIX extended, anywhere in the value) matches;
 * keys are globalAccountID, plan, region and platformRegion in any case. Only the first rule that
 * matches counts. If it has no window any more, the default is used. A window with days recurs: it
 * begins on these days, in the time zone of begin, and goes into the next day if end is not after
 * begin. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct maintenance_policy;

struct maintenance_cluster {
    const char *global_account_id, *plan, *region, *platform_region; /* NULL: unknown */
};

struct maintenance_window {
    int64_t begin_unix_ms, end_unix_ms;
};

/* ERROR_INVALID names the place: "rules[2].windows[0].begin: ...". */
int maintenance_parse(const char *text, size_t size, struct maintenance_policy **ret_policy,
                      struct error *err) must_check;
void maintenance_free(struct maintenance_policy *policy); /* NULL is fine */
define_cleanup(struct maintenance_policy *, maintenance_free)
#define cleanup_maintenance __attribute__((cleanup(maintenance_freep)))

/* The first window of the cluster that ends at least least_ms after now, whether or not it has
 * begun. ERROR_NOT_FOUND if no window is left. */
int maintenance_find(const struct maintenance_policy *policy,
                     const struct maintenance_cluster *cluster, int64_t now_unix_ms,
                     int64_t least_ms, struct maintenance_window *ret_window, struct error *err)
    must_check;
