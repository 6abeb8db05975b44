/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal digits, the same in every locale. Numbers made of them are read by number.h. */
#pragma once

#include <stdbool.h>

enum { SAFE_DIGITS = 18 }; /* any integer of so many digits fits into 64 bits */

static inline bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}
