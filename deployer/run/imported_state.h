/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the state of an item in a cluster to its workspace. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* Writes each state Secret of the array to a subdirectory of state_fd with the Secret's name, in
 * the form that common/state/restore.h reads. */
int imported_state_write(const json_t *secrets, int state_fd, struct error *err) must_check;
