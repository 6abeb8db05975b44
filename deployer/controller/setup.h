/* SPDX-License-Identifier: Apache-2.0 */
/* From options and a configuration file to a running controller. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "deployer/config/config.h"

struct controller_options {
    const char *config, *kubeconfig, *landscaper_kubeconfig;
    const char *metrics_address, *health_address; /* host:port, overrule the configuration */
};

/* To be called before anything else: a signal that comes while we start waits for the loop. As
 * process 1 of a container it would be lost, elsewhere it would end us without a word. */
void controller_block_signals(void);

/* Runs until SIGTERM or SIGINT. Adds to config what only a connected controller knows. */
int controller_run(const struct controller_options *options, struct deployer_config *config,
                   struct error *err) must_check;

/* "host:port", ":port" or "port"; "0" and "off" switch it off (port 0). *ret_host belongs to the
 * caller. */
int address_parse(const char *text, char **ret_host, uint16_t *ret_port, struct error *err)
    must_check;
