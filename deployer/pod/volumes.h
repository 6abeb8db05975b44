/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes and mounts of a run's pod: inputs by key in init, the token in wait, a script's files
 * in main, the shared volume in all containers. */
#pragma once

#include <jansson.h>

#include "deployer/pod/run_objects.h"

/* spec.volumes; *ret_volumes is a new reference. ERROR_TOO_LARGE: too many chunks of state. */
int volumes_new(const struct pod_request *request, json_t **ret_volumes, struct error *err)
    must_check;

/* volumeMounts; new references. */
json_t *volumes_of_init(const struct pod_request *request);
json_t *volumes_of_main(const struct pod_request *request);
json_t *volumes_of_wait(const struct pod_request *request);
