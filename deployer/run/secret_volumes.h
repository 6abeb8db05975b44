/* SPDX-License-Identifier: Apache-2.0 */
/* Plays kubelet for the volumes of one pod: Secrets become files below a directory that stands for
 * the contract's base path. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Fills base_fd (what the pod has at PATH_BASE) with the Secret and projected volumes that the
 * container mounts there. secrets: array of Secret objects; chunks of state come from state_fd, a
 * subdirectory a chunk. Tokens and ConfigMaps of projected volumes have no meaning here and are
 * left out; a Secret that is not there is ERROR_INTERNAL. Files have their volume's defaultMode and
 * the pod's group, as a kubelet gives them. */
int volumes_fill(const json_t *pod, const json_t *container, const json_t *secrets, int state_fd,
                 int base_fd, struct error *err) must_check;
