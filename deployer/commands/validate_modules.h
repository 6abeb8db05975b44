/* SPDX-License-Identifier: Apache-2.0 */
/* Kymas and the catalog that they choose from, for `longshore validate`. */
#pragma once

#include "deployer/commands/findings.h"
#include "deployer/item/bundle.h"

/* If the bundle has ModuleReleaseMetas or ModuleTemplates, adds the modules of each Kyma that it
 * would not get, and the versions in ModuleReleaseMetas that no ModuleTemplate has. An object that
 * is missing is a warning, because it may be in the control plane; objects that contradict each
 * other are errors. Only objects of the same namespace belong together; one without a namespace
 * belongs to all. origins: of the objects of the bundle. */
void modules_check(const struct bundle *bundle, const struct origin *origins,
                   struct findings *findings);
