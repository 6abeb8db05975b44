/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities: "500m", "1Gi", "1e3". */
#pragma once

#include <stdbool.h>

/* Returns false if text is not a quantity or is negative. Exact for amounts of up to 19 digits. */
bool quantity_parse(const char *text, long double *ret_amount);
/* Whether a container can have this resource: cpu, memory, hugepages-2Mi, nvidia.com/gpu ... */
bool quantity_is_resource_name(const char *name);
