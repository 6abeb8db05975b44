/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one object for `longshore validate`, as far as that is possible without a cluster. */
#pragma once

#include <jansson.h>

#include "deployer/commands/findings.h"
#include "deployer/config/config.h"
#include "deployer/item/bundle.h"

struct object_check {
    const struct deployer_config *config;
    bool is_config_given;        /* the configuration is the user's, not the default one */
    const struct bundle *bundle; /* all objects */
    struct findings *findings;
};

/* Adds what is wrong with the object to the findings. Returns its kind if it is one that is checked
 * (static), else NULL; a misspelled kind is an error. */
const char *object_check(const struct object_check *check, const json_t *object,
                         struct origin origin);
/* "DeployItem team/job", for messages. Belongs to the caller. */
char *object_title(const json_t *object);
/* The kinds that are checked, for messages. */
#define OBJECT_CHECK_KINDS                                                                         \
    "DeployItem, Target, Context, Configuration, ProviderConfiguration, Environment, "             \
    "DeployerRegistration, Kyma, ModuleTemplate, ModuleReleaseMeta or Manifest"
