/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Whether the header Host (NULL: absent) is an IP address or localhost, with or without a port. A
 * web page of another host can make a browser send requests to any address after its own name has
 * been made to resolve to it (DNS rebinding); such requests have that name as Host. */
bool host_is_address(const char *host);
