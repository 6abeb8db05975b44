/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about objects that an item refers to and the files do not contain. */
#pragma once

#include "common/base/error.h"
#include "deployer/item/bundle.h"

struct missing_object {
    const char *what; /* "the item's target" */
    const char *kind, *namespace_name, *name;
    const char *option; /* "--target" */
};

/* Fails with ERROR_INVALID. If the files contain an object that differs in its namespace, or only
 * slightly in its name or kind, the error names it. */
int missing_fail(const struct bundle *bundle, const struct missing_object *object,
                 struct error *err) must_check;
