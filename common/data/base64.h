/* SPDX-License-Identifier: Apache-2.0 */
/* Standard base64 with padding, as in Secrets and Docker configurations. */
#pragma once

#include <stddef.h>

#include "common/base/buffer.h"

/* Belongs to the caller; never NULL. */
char *base64_encode(const void *data, size_t size);
/* Appends the decoded bytes to *ret_data. White space is skipped; anything else that is not base64,
 * and wrong padding, is ERROR_INVALID and leaves *ret_data unchanged. */
int base64_decode(const char *text, size_t size, struct buffer *ret_data, struct error *err)
    must_check;
