/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/objects/owner.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/names.h"

void manifest_owner_init(struct manifest_owner *owner, const char *namespace_name, const char *name)
{
    owner->label_value = name_label_value(name);
    owner->identity = xasprintf("%s/%s", namespace_name, name);
    owner->marks = (struct apply_owner){.label_key = LABEL_MANIFEST_ITEM,
                                        .label_value = owner->label_value,
                                        .annotation_key = ANNOTATION_MANIFEST_ITEM,
                                        .annotation_value = owner->identity};
}

void manifest_owner_done(struct manifest_owner *owner)
{
    free(owner->label_value);
    free(owner->identity);
    *owner = (struct manifest_owner){0};
}
