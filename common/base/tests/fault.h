/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection: makes the n-th call of a libc function fail. Tests that use it are linked with
 * WRAP ${LONGSHORE_FAULT_FUNCTIONS}. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* Makes the n-th call (from 1) from now on fail with this errno, once. */
void fault_arm(const char *function, unsigned nth, int error);
/* The same, and all calls after it. */
void fault_arm_permanently(const char *function, unsigned nth, int error);
/* Arms a second fault, to be counted from the moment the first one has occurred. */
void fault_then(const char *function, unsigned nth, int error);
/* Calls callback before the n-th call of this function, which then takes place normally. */
void fault_call_before(const char *function, unsigned nth, void (*callback)(void *data),
                       void *data);
/* Disarms; returns whether the fault has occurred. */
bool fault_disarm(void);
/* The errno of the last fault that was armed. */
int fault_error(void);
/* For a __wrap_ function of the test itself: whether this call has to fail. */
bool fault_occurs(const char *function);

struct fault_scenario {
    const char *name;
    void (*prepare)(void *data); /* called before each run, without faults */
    int (*run)(void *data, struct error *err);
    /* Called after each run, without faults, with the result of run. */
    void (*check)(void *data, int result);
    void *data;
};

/* Runs the scenario once for every call it makes of every wrapped function and for every errno that
 * the function can return, with that call failing. No run may leave a descriptor open, and a
 * failure must have a kind and a text. Returns the number of faults that occurred. */
unsigned fault_sweep(const struct fault_scenario *scenario);
/* The same for one function and one errno. */
unsigned fault_sweep_function(const struct fault_scenario *scenario, const char *function,
                              int error);
