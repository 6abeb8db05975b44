/* SPDX-License-Identifier: Apache-2.0 */
/* Typed objects of the component model, {"type": "ociRegistry/v1", ...}: repositories, accesses,
 * configurations. Member names match in any case if there is no exact match, as in Go. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the type of the object is one of these (a NULL-terminated list), either without a version
 * or with "/v1". */
bool typed_is(const json_t *object, const char *const *types);
/* Borrowed. NULL if there is no such member or object is not an object. */
const json_t *typed_member(const json_t *object, const char *key);
/* The same for a member that is a string. NULL for an empty one, too. */
const char *typed_text(const json_t *object, const char *key);

/* Whether text equals one of the list, for example of media types. */
bool text_is_one_of(const char *text, const char *const *list, size_t count);
