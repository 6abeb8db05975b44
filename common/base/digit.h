/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal digits, independent of the locale. For whole numbers see number.h. */
#pragma once

#include <stdbool.h>

static inline bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}
