/* SPDX-License-Identifier: Apache-2.0 */
#include "init/step.h"

const char *step_name(enum step step)
{
    switch (step) {
    case STEP_CONFIGURATION:
        return "configuration";
    case STEP_VOLUME:
        return "volume";
    case STEP_SANDBOX:
        return "sandbox";
    case STEP_COMPONENTS:
        return "components";
    case STEP_BLUEPRINT:
        return "blueprint";
    case STEP_CHART:
        return "chart";
    case STEP_IMPORTS:
        return "imports";
    case STEP_TARGET:
        return "target";
    case STEP_STATE:
        return "state";
    }
    return "init";
}
