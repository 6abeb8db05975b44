/* SPDX-License-Identifier: Apache-2.0 */
/* Does a kubelet's work for the Secret and projected volumes of one pod: Secrets become files. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Writes the Secret and projected volumes that init and main mount below PATH_BASE to
 * RUN_PATH/ls, which stands for it. Contents come from input_secret and, for chunks of the state,
 * from subdirectories of state_fd. Tokens and ConfigMaps of projected volumes are left out. Files
 * get their volume's defaultMode and the pod's group. A Secret that is neither is ERROR_INTERNAL.
 */
int secret_volumes_fill(const json_t *pod, const json_t *input_secret, int state_fd,
                        const char *run_path, struct error *err) must_check;
