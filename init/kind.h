/* SPDX-License-Identifier: Apache-2.0 */
/* The apiVersion and kind of a document that init reads. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* ERROR_INVALID if the document names another apiVersion or kind. Either may be absent, as Go's
 * decoders fill in the defaults. */
int kind_check(const json_t *doc, const char *api_version, const char *kind, struct error *err)
    must_check;
