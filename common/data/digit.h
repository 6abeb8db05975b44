/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: decimal digits, the same in every locale. */
#pragma once

#include <stdbool.h>

enum { SAFE_DIGITS = 18 }; /* any integer of so many digits fits into 64 bits */

static inline bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}
