/* SPDX-License-Identifier: Apache-2.0 */
/* The dependencies between registrations of deployers, for `longshore validate`. */
#pragma once

#include "deployer/commands/findings.h"
#include "deployer/item/bundle.h"

/* For each Environment of the bundle, adds the registrations that cannot be installed there. A
 * cycle of declared types (spec.requiredTypes) is an error. A type that no registration of the
 * bundle serves is a warning, because a deployer that is not registered may serve it, and so is
 * everything that follows from types in the text of a blueprint. origins: of the objects of the
 * bundle. */
void graph_check(const struct bundle *bundle, const struct origin *origins,
                 struct findings *findings);
