/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a pod that no provider configuration can change. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* NULL if pod equals the pod of a minimal item except for what an item may set: image,
 * command, args, pull policy, env of its own and resources of main; nodeSelector, tolerations and
 * runtimeClassName of the pod; a script's own read-only files. Otherwise a description of the
 * difference. Both pods are of the same item and configuration; borrowed. */
const char *invariants_broken(const json_t *pod, const json_t *plain);
