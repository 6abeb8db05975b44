/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a controller together from options and a configuration, runs it and shuts it down. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "deployer/config/config.h"
#include "deployer/engine.h"

struct controller_options {
    const char *config, *kubeconfig, *landscaper_kubeconfig;
    const char *metrics_address, *health_address; /* host:port; override the configuration */
    const struct engine_class *const *engines;    /* NULL at the end */
};

/* Runs until SIGTERM or SIGINT. Sets config->landscaper_mark. */
int controller_run(const struct controller_options *options, struct deployer_config *config,
                   struct error *err) must_check;
