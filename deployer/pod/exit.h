/* SPDX-License-Identifier: Apache-2.0 */
/* Describes how a container ended. */
#pragma once

#include <jansson.h>

/* "exit code 137, signal 9 (SIGKILL)", of state.terminated. Belongs to the caller. */
char *exit_describe(const json_t *terminated);
