/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#define LIFECYCLE_PLAN "plan"

/* `longshore lifecycle plan KYMA`. Returns the exit code. */
int module_plan_main(int argc, char **argv);
