/* SPDX-License-Identifier: Apache-2.0 */
/* Converts OCM credentials (the key .ocmcredentialconfig of a pull Secret) to a Docker config,
 * which the kubelet understands. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/base/error.h"

/* text is YAML of type credentials.config.ocm.software, or of generic.config.ocm.software that
 * contains such. Credentials for anything but OCI registries are ignored. *ret_config is
 * {"auths": {...}}, possibly empty, a new reference. Messages do not quote the text. */
int ocm_credentials_docker_config(const char *text, size_t size, json_t **ret_config,
                                  struct error *err) must_check;
