/* SPDX-License-Identifier: Apache-2.0 */
/* Which credentials are for a classic chart repository. No I/O. */
#pragma once

#include <jansson.h>

/* Of entries, an array of {"url", ...}: the one whose address is that of the repository, or the
 * longest that the address of the repository begins with. Scheme, host and port must be equal.
 * Borrowed; NULL: no entry is for it. */
const json_t *chart_repository_entry(const json_t *entries, const char *repository);
