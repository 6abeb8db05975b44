/* SPDX-License-Identifier: Apache-2.0 */
/* The permissions of an item's pod: wait may get and watch its own pod, get and update its own
 * export Secret, and create Secrets. main and init have no permissions. */
#pragma once

#include <jansson.h>

#include "deployer/pod/run_objects.h"

/* New references. */
json_t *access_service_account(const struct pod_request *request);
json_t *access_role(const struct pod_request *request);
json_t *access_role_binding(const struct pod_request *request);
