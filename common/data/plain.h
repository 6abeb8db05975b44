/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: text that stands for itself between the quotes of a JSON or YAML string. */
#pragma once

#include <stddef.h>

/* How many bytes from the start are printable ASCII, quote and backslash aside: of most strings all
 * of them. */
size_t plain_length(const char *text, size_t size);
