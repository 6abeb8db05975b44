/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own registry credentials, where Docker and Podman keep them. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Adds what $REGISTRY_AUTH_FILE, Podman's auth.json and Docker's config.json hold to
 * docker_configs, as inputs_add_docker_config() does. A file that is there but broken is an error
 * by name. */
int credentials_add(json_t *docker_configs, struct error *err) must_check;
