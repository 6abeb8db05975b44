/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of modules: x.y.z with an optional suffix. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct version {
    uint32_t major, minor, patch;
};

/* Whether text starts with three numbers without leading zeros, followed by nothing, "-" or "+".
 * Otherwise *ret_version is untouched. */
bool version_parse(const char *text, struct version *ret_version);
/* Less than, equal to, or greater than 0. Suffixes do not count: a module may go from 1.2.0 to
 * 1.2.0-rc1, as in the original. */
int version_compare(struct version one, struct version other);
