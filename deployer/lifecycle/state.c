/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/state.h"

#include <string.h>

#include "common/base/cleanup.h"

static const char *const names[] = {
    [MODULE_UNMANAGED] = "Unmanaged", [MODULE_READY] = "Ready",
    [MODULE_DELETING] = "Deleting",   [MODULE_PROCESSING] = "Processing",
    [MODULE_WARNING] = "Warning",     [MODULE_ERROR] = "Error",
};

const char *module_state_name(enum module_state state)
{
    return names[state];
}

bool module_state_parse(const char *text, enum module_state *ret_state)
{
    if (!text || !*text) {
        *ret_state = MODULE_PROCESSING;
        return true;
    }
    for (size_t i = 0; i < array_length(names); i++)
        if (strcmp(names[i], text) == 0) {
            *ret_state = (enum module_state)i;
            return true;
        }
    return false;
}

enum module_state module_state_worse(enum module_state one, enum module_state other)
{
    return one > other ? one : other;
}

static enum module_state worst(const enum module_state *states, size_t count)
{
    enum module_state state = MODULE_UNMANAGED;

    for (size_t i = 0; i < count; i++)
        state = module_state_worse(state, states[i]);
    return state;
}

bool modules_are_ready(const enum module_state *states, size_t count)
{
    return worst(states, count) <= MODULE_READY;
}

enum module_state kyma_state(const enum module_state *states, size_t count,
                             bool are_conditions_true)
{
    enum module_state state = worst(states, count);

    if (state >= MODULE_PROCESSING)
        return state;
    /* A module that is being deleted makes the condition Modules false. */
    return are_conditions_true && state <= MODULE_READY ? MODULE_READY : MODULE_PROCESSING;
}
