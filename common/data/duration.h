/* SPDX-License-Identifier: Apache-2.0 */
/* Go durations: "1h30m", "1.5h", "300ms", "-5s", "0". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* Parses a duration as time.ParseDuration() in Go. Anything else, and overflow, is ERROR_INVALID.
 */
int duration_parse(const char *text, int64_t *ret_ns, struct error *err) must_check;
/* Writes the form of Go ("1h30m0s", "1.5s", "300ms"). ret_text has at least 32 bytes. */
void duration_format(int64_t ns, char *ret_text, size_t size);
