/* SPDX-License-Identifier: Apache-2.0 */
#include "common/data/doc_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void doc_format_real(double value, char ret_text[DOC_REAL_MAX])
{
    /* A double preserves 15 decimal digits, and 17 identify it. */
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(ret_text, DOC_REAL_MAX, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value)
            break;
    }
    if (!strpbrk(ret_text, ".e"))
        (void)snprintf(ret_text + strlen(ret_text), DOC_REAL_MAX - strlen(ret_text), ".0");
}
