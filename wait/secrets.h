/* SPDX-License-Identifier: Apache-2.0 */
/* The Secrets that we write, as objects: names, labels, annotations. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wait/sink.h"

/* What all state Secrets of an item start with: prefix if not NULL, else "state-NS-N", shortened
 * with a hash where it would not leave room for uuid and number. Belongs to the caller. */
char *secret_state_prefix(const char *prefix, const char *item_namespace, const char *item_name);
/* "NS-N-export", where the Go controller looks for it, or a hashed form where that is too long. */
char *secret_export_name(const char *item_namespace, const char *item_name);
/* Selects an item's state, Go's and ours. */
char *secret_state_selector(const char *item_namespace, const char *item_name);

/* A chunk under its fixed name: trying again after a lost answer finds it there. */
json_t *secret_state_chunk(const char *prefix, const struct generation *generation, int64_t number,
                           const void *bytes, size_t size);

/* The export Secret, made or changed: existing (borrowed) is what is there, or NULL. */
json_t *secret_export(const char *name, const json_t *existing, const struct origin *origin,
                      const void *bytes, size_t size);
/* Whether a newer run than ours wrote it: then it is not ours to touch. */
bool secret_export_is_newer(const json_t *existing, const struct origin *origin);
