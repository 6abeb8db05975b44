/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server does with the schema of a custom resource: unknown fields are pruned,
 * defaults are filled in, and the rest is checked. Supported: type, properties,
 * additionalProperties, items, required, enum, pattern, minLength, maxLength, default,
 * x-kubernetes-preserve-unknown-fields, x-kubernetes-int-or-string, nullable. Rules in CEL are
 * ignored. */
#pragma once

#include <jansson.h>

/* schema may be NULL: everything is kept. Changes the object in place. */
void schema_prune(const json_t *schema, json_t *object);
void schema_default(const json_t *schema, json_t *object);
/* The causes of a Status, an empty array if the object is valid. A new reference. */
json_t *schema_check(const json_t *schema, const json_t *object);
