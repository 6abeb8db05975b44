/* SPDX-License-Identifier: Apache-2.0 */
/* Go durations: "1h30m", "1.5h", "300ms", "-5s", "0". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* Nanoseconds; overflow and anything else than Go's grammar is ERROR_INVALID. */
int duration_parse(const char *text, int64_t *ret_ns, struct error *err) must_check;
/* Go's own form ("1h30m0s", "1.5s", "300ms"); buffer of at least 32 bytes. */
void duration_format(int64_t ns, char *ret_text, size_t size);
