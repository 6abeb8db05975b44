/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of a run's pod and who mounts which: inputs into init by key, the token into wait, a
 * script's files into main, the shared volume everywhere, nothing else anywhere. */
#pragma once

#include <jansson.h>

#include "deployer/pod/request.h"

/* spec.volumes; *ret_volumes is a new reference. ERROR_TOO_LARGE: too many chunks of state. */
int volumes_new(const struct pod_request *request, json_t **ret_volumes, struct error *err)
    must_check;

/* volumeMounts; new references. */
json_t *volumes_of_init(const struct pod_request *request);
json_t *volumes_of_main(const struct pod_request *request);
json_t *volumes_of_wait(const struct pod_request *request);
