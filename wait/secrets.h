/* SPDX-License-Identifier: Apache-2.0 */
/* The Secrets that wait writes: names, labels, annotations. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wait/sink.h"

/* The name prefix of all state Secrets of an item: prefix if not NULL, else
 * "state-<namespace>-<name>", hashed if uuid and number would not fit behind it. Belongs to the
 * caller. */
char *secret_state_prefix(const char *prefix, const char *item_namespace, const char *item_name);
/* "<namespace>-<name>-export", as the Go controller expects, hashed if that is too long. */
char *secret_export_name(const char *item_namespace, const char *item_name);
/* Label selector of an item's state, written by Go or by us. */
char *secret_state_selector(const char *item_namespace, const char *item_name);

/* The name depends only on prefix, generation and number, so a retried create is recognized. */
json_t *secret_state_chunk(const char *prefix, const struct generation *generation, int64_t number,
                           const void *bytes, size_t size);

/* The export Secret: new, or a changed copy of existing (borrowed; may be NULL). */
json_t *secret_export(const char *name, const json_t *existing, const struct origin *origin,
                      const void *bytes, size_t size);
/* The Secret in which the controller finds how far a snapshot is. It has no data. */
json_t *secret_report(const char *name, const struct origin *origin,
                      const struct save_progress *progress);
/* Whether a newer run wrote it; it must not be changed then. */
bool secret_export_is_newer(const json_t *existing, const struct origin *origin);
