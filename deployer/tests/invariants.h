/* SPDX-License-Identifier: Apache-2.0 */
/* What no provider configuration can change about a pod. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* NULL if pod is exactly the pod of the plainest item, but for what an item may set: image,
 * command, args, pull policy, env of its own and resources of main; nodeSelector, tolerations and
 * runtimeClassName of the pod; a script's own read-only files. Else what is wrong. Both pods are of
 * the same item and configuration; borrowed. */
const char *invariants_broken(const json_t *pod, const json_t *plain);
