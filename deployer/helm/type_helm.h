/* SPDX-License-Identifier: Apache-2.0 */
/* The run of a helm item (run_spec_parse()). Its data is a struct helm_config. */
#pragma once

#include "deployer/helm/configuration.h"
#include "deployer/item/provider.h"

/* Replaces the arguments, which depend on more than the configuration. */
void helm_run_prepare(struct run_spec *run, const struct helm_situation *situation);
