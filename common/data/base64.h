/* SPDX-License-Identifier: Apache-2.0 */
/* Standard base64 with padding, as Secrets and Docker configs carry it. */
#pragma once

#include <stddef.h>

#include "common/base/buffer.h"

/* Belongs to the caller; never NULL. */
char *base64_encode(const void *data, size_t size);
/* Appends the bytes to *ret_data. White space is passed over; anything else that is no base64, and
 * wrong padding, is ERROR_INVALID, and then *ret_data is as it was. */
int base64_decode(const char *text, size_t size, struct buffer *ret_data, struct error *err)
    must_check;
