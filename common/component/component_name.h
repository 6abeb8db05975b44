/* SPDX-License-Identifier: Apache-2.0 */
/* The component model's rules for names and versions, and typed objects ({"type": "kind/v1", ...}).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/error.h"

enum { COMPONENT_NAME_MAX_BYTES = 255 };

/* A domain and at least one path segment, lower case: example.com/acme/app. */
bool component_name_is_valid(const char *text);
/* Of resources, sources and references: two characters at least, [a-z0-9] with -_+ inside. */
bool element_name_is_valid(const char *text);
/* Relaxed semver: optional v, one to three numbers, optional -pre and +build. */
bool version_is_valid(const char *text);
/* The registry's tag for a version: "+" becomes ".build-". Belongs to the caller. */
char *version_tag(const char *version);

/* Whether an object's type is one of these kinds (a NULL-ended list), without version or "/v1". */
bool typed_is(const json_t *object, const char *const *kinds);
/* A member by name, or else by name in any case, as Go reads typed objects. Borrowed, or NULL. */
const json_t *typed_member(const json_t *object, const char *key);
const char *typed_text(const json_t *object, const char *key); /* "" is NULL too */
