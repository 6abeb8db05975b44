/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the file that main left at EXPORTS_PATH. Main is not trusted: no symlink, only a
 * regular file, bounded, and one JSON or YAML object. */
#pragma once

#include <stddef.h>

#include "common/base/buffer.h"
#include "common/contract.h"
#include "wait/volume.h"

enum { EXPORT_MAX_BYTES = SECRET_MAX_BYTES }; /* more does not fit into a Secret */

/* The raw bytes into ret_bytes (given its maximum here; the caller's to free). ERROR_NOT_FOUND:
 * there is no file, or nothing in it. Other errors name the file, and line and column where its
 * syntax is wrong; they never quote its content. */
int export_read(const struct volume_place *place, struct buffer *ret_bytes, struct error *err)
    must_check;

/* The check alone: one object. *ret_is_empty is true for a text without a value. */
int export_check(const char *text, size_t size, bool *ret_is_empty, struct error *err) must_check;
