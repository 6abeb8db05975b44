/* SPDX-License-Identifier: Apache-2.0 */
/* What the containers of an item may do at the API server: wait reads and watches its own pod,
 * reads and updates its own export Secret, creates Secrets; nothing else, and nobody else anything.
 */
#pragma once

#include <jansson.h>

#include "deployer/pod/request.h"

/* New references. */
json_t *access_service_account(const struct pod_request *request);
json_t *access_role(const struct pod_request *request);
json_t *access_role_binding(const struct pod_request *request);
