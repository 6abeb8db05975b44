/* SPDX-License-Identifier: Apache-2.0 */
/* The Manifest of a module in a cluster: what the control plane stores about one module that is to
 * be installed. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "deployer/lifecycle/module_source.h"
#include "deployer/lifecycle/resolve.h"

/* The whole object, to be applied: name, labels, annotations, owner, spec. choice is
 * CHOICE_INSTALL; mandatory modules have no channel. repository is the configured registry, without
 * a scheme. A new reference. */
json_t *manifest_object(const json_t *kyma, const struct module_choice *choice, bool is_mandatory,
                        const char *repository, const struct module_source *source);

/* Why an existing Manifest has to be written; NULL: it does not. For logs: "its version differs".
 * What it carries beyond the wanted object is left alone. written_generation: of the template that
 * this process has written it with, or 0. The status of the Kyma names it only afterwards. */
const char *manifest_difference(const json_t *existing, const json_t *wanted,
                                const struct module_choice *choice, int64_t written_generation);
