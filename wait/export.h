/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and validates the file at EXPORTS_PATH. Main is not trusted: the file must be a regular
 * file of limited size, not a symlink, with one JSON or YAML object. */
#pragma once

#include <stddef.h>

#include "common/base/buffer.h"
#include "common/contract.h"
#include "wait/volume.h"

enum { EXPORT_MAX_BYTES = SECRET_MAX_BYTES }; /* the limit of a Secret */

/* Reads the raw bytes into ret_bytes, which is initialized here and belongs to the caller.
 * ERROR_NOT_FOUND if the file is missing or empty. Other errors name the variable, whose
 * value differs between pod and local run, and line and column of a syntax error; they never quote
 * the content. ERROR_CONFLICT if the file changes while it
 * is read. */
int export_read(const struct volume_place *place, struct buffer *ret_bytes, struct error *err)
    must_check;

/* Validates only. *ret_is_empty is true if text has no value at all, or null. */
int export_check(const char *text, size_t size, bool *ret_is_empty, struct error *err) must_check;
