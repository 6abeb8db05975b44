/* SPDX-License-Identifier: Apache-2.0 */
/* The registry pull Secrets of a run: those of the Context, then those of the item. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Maximum of different Secrets. Each costs a request and memory until the pod is created, and users
 * must not be able to slow down the items of others. */
enum { PULL_SECRETS_MAX = 100 };

/* *ret_secrets is [{"namespace", "name"}] without duplicates, a new reference; earlier elements
 * take precedence. context is the object or NULL, its Secrets are in namespace_name; of_item is
 * run_spec.pull_secrets. ERROR_INVALID if there are more than PULL_SECRETS_MAX. */
int pull_secrets_gather(const json_t *context, const char *namespace_name, const json_t *of_item,
                        json_t **ret_secrets, struct error *err) must_check;
