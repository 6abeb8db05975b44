/* SPDX-License-Identifier: Apache-2.0 */
/* The run of a helm item (run_spec_parse()). Its data is a struct helm_config. */
#pragma once

#include "deployer/helm/configuration.h"
#include "deployer/item/provider.h"

/* The configuration of a run; NULL if it is not that of a helm item. Borrowed. */
static inline const struct helm_config *helm_config_of(const struct run_spec *run)
{
    return run->type == &ITEM_TYPE_HELM ? run->data : NULL;
}

/* Replaces the arguments, which depend on more than the configuration. */
void helm_run_prepare(struct run_spec *run, const struct helm_situation *situation);
