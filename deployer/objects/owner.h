/* SPDX-License-Identifier: Apache-2.0 */
/* The marks of an item on its objects: the label of the Go deployer, with a hash for names that are
 * too long for a label, and an annotation with namespace and name. */
#pragma once

#include "common/apply/inventory.h"

struct manifest_owner {
    struct apply_owner marks; /* refers to the strings below */
    char *label_value, *identity;
};

void manifest_owner_init(struct manifest_owner *owner, const char *namespace_name,
                         const char *name);
void manifest_owner_done(struct manifest_owner *owner);
#define cleanup_manifest_owner __attribute__((cleanup(manifest_owner_done)))
