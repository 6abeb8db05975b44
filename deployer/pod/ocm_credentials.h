/* SPDX-License-Identifier: Apache-2.0 */
/* OCM credentials (the key .ocmcredentialconfig of a pull Secret) as a Docker config, which is what
 * kubelets and the rest of us understand. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

/* YAML of type credentials.config.ocm.software, or of generic.config.ocm.software around such. What
 * is not about OCI registries is passed over. *ret_config is {"auths": {...}}, maybe empty, a new
 * reference. ERROR_INVALID never quotes the text. */
int ocm_credentials_docker_config(const char *text, size_t size, json_t **ret_config,
                                  struct error *err) must_check;
