/* SPDX-License-Identifier: Apache-2.0 */
/* The assertion of a fuzzer. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline void must(bool is_true)
{
    if (!is_true)
        abort();
}
