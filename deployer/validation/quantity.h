/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities: "500m", "1Gi", "1e3". */
#pragma once

#include <stdbool.h>

/* False if text is no quantity or is negative. Exact as long as the amount has at most 19 digits.
 */
bool quantity_parse(const char *text, long double *ret_amount);
