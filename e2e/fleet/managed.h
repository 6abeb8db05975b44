/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.managedFields: who owns which field of an object, and server-side apply. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "e2e/fleet/shape.h"

/* Who writes. */
struct managed_by {
    const char *manager, *api_version;
    const char *subresource; /* "" or "status" */
    int64_t now_s;
    const char
        *ignored[2]; /* members of the object that the writer cannot change; NULL, "": none */
};

/* Records in after that by changed it: the fields that differ from before (NULL: after is new) are
 * then owned by this manager with operation Update, and by nobody else. */
void managed_update(const struct shape *shape, const json_t *before, json_t *after,
                    const struct managed_by *by);

/* One field that another manager owns with another value. */
struct managed_conflict {
    char *manager; /* as the API server describes it: "\"kubectl\" using v1 at ..." */
    char *path;
};
struct managed_conflicts {
    struct managed_conflict *rows;
    size_t count;
};
void managed_conflicts_done(struct managed_conflicts *conflicts);
#define cleanup_conflicts __attribute__((cleanup(managed_conflicts_done)))

/* Server-side apply of config to live (NULL: there is no such object). The result is a new
 * reference; NULL if there are conflicts, which are never reported if is_forced. */
json_t *managed_apply(const struct shape *shape, const json_t *live, const json_t *config,
                      const struct managed_by *by, bool is_forced,
                      struct managed_conflicts *ret_conflicts);
