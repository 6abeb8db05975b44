/* SPDX-License-Identifier: Apache-2.0 */
/* The user's registry credentials, as stored by Docker and Podman. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Adds the content of $REGISTRY_AUTH_FILE, Podman's auth.json and Docker's config.json to
 * docker_configs, as inputs_add_docker_config() does. Missing files are skipped; a malformed file
 * is an error that names it. */
int credentials_add(json_t *docker_configs, struct error *err) must_check;
