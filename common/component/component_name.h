/* SPDX-License-Identifier: Apache-2.0 */
/* Names and versions of the component model. */
#pragma once

#include <stdbool.h>

enum { COMPONENT_NAME_MAX_BYTES = 255 };

/* A lower-case domain and at least one path segment, for example "example.com/acme/app". */
bool component_name_is_valid(const char *text);
/* Of a resource, source or reference: at least two characters, [a-z0-9] with "-_+" inside. */
bool element_name_is_valid(const char *text);
/* Relaxed semver: optional "v", one to three numbers, optional "-pre" and "+build". */
bool version_is_valid(const char *text);
/* The tag of a version in a registry, in which "+" becomes ".build-". Belongs to the caller. */
char *version_tag(const char *version);
