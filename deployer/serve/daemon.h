/* SPDX-License-Identifier: Apache-2.0 */
/* What every long-running command does: signals, sandbox, addresses. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/loop.h"

/* SIGTERM, SIGINT, SIGUSR1, SIGUSR2. */
extern const int DAEMON_SIGNALS[];
extern const size_t DAEMON_SIGNAL_COUNT;

/* To be called first: a signal that arrives during start-up then waits for the event loop.
 * Otherwise it would be ignored as process 1 of a container, and kill the process elsewhere. */
void daemon_block_signals(void);
/* Whether the signal was SIGUSR1 or SIGUSR2, which raise and lower the log level. */
bool daemon_changes_level(int signal_number);
/* Reads any file, writes none, connects and listens. */
int daemon_enter_sandbox(struct error *err) must_check;
/* The same, but files beneath this directory may be written. NULL: none. */
int daemon_enter_sandbox_with(const char *directory, struct error *err) must_check;
/* A variable of the environment that is set and not empty, else the fallback. */
const char *daemon_variable(const char *name, const char *fallback);

/* Parses "host:port", ":port" or "port"; "0" and "off" disable the listener (port 0). *ret_host
 * belongs to the caller. */
int address_parse(const char *text, char **ret_host, uint16_t *ret_port, struct error *err)
    must_check;
