/* SPDX-License-Identifier: Apache-2.0 */
/* Fails the n-th call of a function of libc. A test that uses it is linked with
 * WRAP ${LONGSHORE_FAULT_FUNCTIONS}. Help for tests; failures are failed assertions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* From now on, the n-th call (from 1) of this function fails with this errno; once. */
void fault_arm(const char *function, unsigned nth, int error);
/* The same, but all calls after it fail as well. */
void fault_arm_for_good(const char *function, unsigned nth, int error);
/* After the one that is armed has struck, this one is. */
void fault_then(const char *function, unsigned nth, int error);
/* Before the n-th call of this function somebody else does something; the call itself is made. */
void fault_disturb(const char *function, unsigned nth, void (*disturb)(void *data), void *data);
/* Ends it; whether it has struck. */
bool fault_disarm(void);
/* The errno that the last one was armed with. */
int fault_error(void);
/* For a test's own __wrap_ of a function that is not of libc: whether this call of it is to fail.
 */
bool fault_strikes(const char *function);

struct fault_scenario {
    const char *name;
    void (*prepare)(void *data); /* before each run, nothing fails */
    int (*run)(void *data, struct error *err);
    /* After each run, nothing fails: result is that of run. */
    void (*check)(void *data, int result);
    void *data;
};

/* Runs the scenario once for each call that it makes of each wrapped function and each errno that
 * fits it, with that call failing. Whatever happens, no descriptor may be left open, and a failure
 * has a kind and a text. Returns how many faults have struck. */
unsigned fault_sweep(const struct fault_scenario *scenario);
/* The same with one function and one errno. */
unsigned fault_sweep_function(const struct fault_scenario *scenario, const char *function,
                              int error);
