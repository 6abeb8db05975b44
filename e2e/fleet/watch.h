/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: the changes of a resource as a stream of lines, with bookmarks. */
#pragma once

#include "e2e/fleet/api.h"
#include "e2e/fleet/exchange.h"

struct watch_settings {
    struct loop *loop;
    uint64_t bookmark_ms; /* between two bookmarks */
};

/* Responds to the request: with a stream that lives until the client ends it, its timeout is
 * reached, or the cluster is restarted. The code that was sent is returned. */
int watch_start(const struct watch_settings *settings, const struct api_call *call,
                struct exchange *exchange);
