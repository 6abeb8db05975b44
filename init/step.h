/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a run, in their order. They are named in the log and in the termination message. */
#pragma once

enum step {
    STEP_CONFIGURATION,
    STEP_VOLUME,
    STEP_SANDBOX,
    STEP_COMPONENTS,
    STEP_BLUEPRINT,
    STEP_CHART,
    STEP_IMPORTS,
    STEP_TARGET,
    STEP_STATE,
};

const char *step_name(enum step step);
