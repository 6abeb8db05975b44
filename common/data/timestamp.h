/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339 times: written in UTC without a fraction, read with any fraction and offset. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { TIMESTAMP_MAX = 32 };

int timestamp_parse(const char *text, int64_t *ret_unix_ms, struct error *err) must_check;
void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_MAX]);
/* With microseconds, as in a Lease. */
void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_MAX]);
