/* SPDX-License-Identifier: Apache-2.0 */
/* The status page of `longshore registrations`: Environments, and the deployers that are registered
 * for them, as their statuses say. */
#pragma once

#include "deployer/page/watched.h"

enum environments_page_kind {
    ENVIRONMENTS_PAGE_ENVIRONMENTS,
    ENVIRONMENTS_PAGE_REGISTRATIONS,
    ENVIRONMENTS_PAGE_KINDS,
};

/* What watched_page_new() needs to know about both kinds: program, kinds, watched and kind_count.
 * The caller fills in the rest; data is json_object(), where the adapter remembers in which
 * environments a deployer is. */
extern const struct watched_options ENVIRONMENTS_PAGE;
