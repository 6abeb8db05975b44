/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/version.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/number.h"

bool version_parse(const char *text, struct version *ret_version)
{
    uint64_t parts[3];

    for (size_t i = 0; i < array_length(parts); i++) {
        size_t digits;

        if (i > 0 && *text++ != '.')
            return false;
        digits = number_scan(text, UINT32_MAX, &parts[i]);
        if (digits == 0 || (digits > 1 && *text == '0'))
            return false;
        text += digits;
    }
    if (*text && !strchr("-+", *text))
        return false;
    *ret_version = (struct version){(uint32_t)parts[0], (uint32_t)parts[1], (uint32_t)parts[2]};
    return true;
}

static int compare(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

int version_compare(struct version one, struct version other)
{
    int order = compare(one.major, other.major);

    if (order == 0)
        order = compare(one.minor, other.minor);
    return order ? order : compare(one.patch, other.patch);
}
