/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as `longshore diff` shows them: without metadata that changes with every write, and
 * without the values of Secrets. Pure. */
#pragma once

#include <jansson.h>

/* The unified diff of two states of an object as YAML. before NULL: it is created; after NULL: it
 * is deleted; then its status is left out. Of a Secret it shows which values differ, but none of
 * them. "" if nothing that is shown differs. Belongs to the caller. */
char *view_diff(const json_t *before, const json_t *after);
