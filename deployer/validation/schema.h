/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the tables of rules.h into JSON Schema (draft 7), for editors. A schema accepts whatever
 * rules_check() accepts without an error or an unknown field; relations between fields, which code
 * checks, are not part of it. */
#pragma once

#include <jansson.h>

#include "deployer/validation/rules.h"

/* The schema of an object with these fields. New reference; the caller may add to it. */
json_t *schema_of_fields(const struct field_rule *fields);
/* The same as a document of its own, with a title. */
json_t *schema_document(const char *title, const struct field_rule *fields);
/* Replaces the schema of one property by {"const": text}, and makes the property required. */
void schema_fix(json_t *schema, const char *property, const char *text);
