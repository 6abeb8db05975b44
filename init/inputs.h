/* SPDX-License-Identifier: Apache-2.0 */
/* The two inputs that are only passed on: import values and target. */
#pragma once

#include "init/volume.h"

/* values is the JSON text (NULL: there are none, and no file is written). */
int inputs_write_imports(const struct volume *volume, const char *path, const char *values,
                         struct error *err) must_check;

/* From the mounted file: the target as the user's program finds it, {"target": ..., "content":
 * ...}, or null. What lacks apiVersion and kind (the Go controller) gets them. *ret_size is the
 * size of what was written. */
int inputs_write_target(const struct volume *volume, const char *path, const char *source,
                        size_t *ret_size, struct error *err) must_check;
