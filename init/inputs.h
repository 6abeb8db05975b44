/* SPDX-License-Identifier: Apache-2.0 */
/* The two inputs that init copies: import values and target. */
#pragma once

#include "init/volume.h"

/* values is JSON text. NULL: there are none, and no file is written. */
int inputs_write_imports(const struct volume *volume, const char *path, const char *values,
                         struct error *err) must_check;

/* Copies the mounted target, {"target": ..., "content": ...} or null. Adds apiVersion and kind to
 * the target if they are missing, as they are under the Go controller. *ret_size is the size of the
 * written file. */
int inputs_write_target(const struct volume *volume, const char *path, const char *source,
                        size_t *ret_size, struct error *err) must_check;
