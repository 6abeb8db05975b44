/* SPDX-License-Identifier: Apache-2.0 */
/* Which registry pull Secrets a run reads: those that the Context names, then those of the item. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Different ones. Each is a request and is kept until the pod is made, and both lists are written
 * by people whose items stand in one line with everybody else's. */
enum { PULL_SECRETS_MAX = 100 };

/* [{"namespace", "name"}], each once, at its first place: order is precedence. context (or NULL) is
 * the object, whose Secrets are in namespace_name; of_item is run_spec.pull_secrets. More than
 * PULL_SECRETS_MAX are ERROR_INVALID. *ret_secrets is a new reference. */
int pull_secrets_gather(const json_t *context, const char *namespace_name, const json_t *of_item,
                        json_t **ret_secrets, struct error *err) must_check;
