/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `longshore agent`, also as landscaper-agent. Returns the exit code. */
int agent_main(int argc, char **argv);
