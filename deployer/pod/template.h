/* SPDX-License-Identifier: Apache-2.0 */
/* The pod of a run. Its security settings are constants and do not depend on the item: user and
 * groups, privileges, capabilities, seccomp, mounts, volumes, service account, host namespaces. */
#pragma once

#include <jansson.h>

#include "deployer/pod/run_objects.h"

/* pull_secret: the object of inputs_pull_secret(), or NULL. *ret_pod is a new reference. */
int template_pod(const struct pod_request *request, const json_t *pull_secret, json_t **ret_pod,
                 struct error *err) must_check;
