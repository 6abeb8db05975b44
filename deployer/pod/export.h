/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an export Secret of the host cluster is the result of a given run. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether pod, which runs job for the item of this name, has written the export. */
bool export_is_of(const json_t *export, const json_t *pod, const char *job, const char *item_name);
