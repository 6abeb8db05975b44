/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/apply: who owns which fields of an object. Pure.
 *
 * Server-side apply removes a field that left the manifest only if an earlier apply of the same
 * manager owns it. Fields that were written by PUT or by another program are owned by operation
 * Update, so they would stay for ever. Therefore these entries of managedFields are turned into
 * entries of operation Apply before the next apply. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A JSON patch (RFC 6902) that makes what manager and the former managers (terminated by NULL, or
 * NULL) wrote by other operations part of what manager applied; NULL: there is nothing to do. Only
 * entries of the object's own apiVersion count, and none of subresources. A new reference. */
json_t *managers_take_over(const json_t *object, const char *manager,
                           const char *const *former_managers);
/* Whether nobody but manager, by operation Apply, has written the object: it has just been created.
 */
bool managers_is_sole(const json_t *object, const char *manager);
