/* SPDX-License-Identifier: Apache-2.0 */
/* The states of modules and of a Kyma, and how the states of modules become the state of their
 * Kyma. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* From best to worst. */
enum module_state {
    MODULE_UNMANAGED,
    MODULE_READY,
    MODULE_DELETING,
    MODULE_PROCESSING,
    MODULE_WARNING,
    MODULE_ERROR,
};

const char *module_state_name(enum module_state state);
/* Whether text is a state; NULL and "" are MODULE_PROCESSING, because nobody has judged yet. */
bool module_state_parse(const char *text, enum module_state *ret_state);
enum module_state module_state_worse(enum module_state one, enum module_state other);

/* Whether every module is Ready or Unmanaged: the condition Modules of a Kyma. */
bool modules_are_ready(const enum module_state *states, size_t count);
/* are_conditions_true: all conditions of the Kyma, Modules included. */
enum module_state kyma_state(const enum module_state *states, size_t count,
                             bool are_conditions_true);
