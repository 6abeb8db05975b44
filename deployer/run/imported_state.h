/* SPDX-License-Identifier: Apache-2.0 */
/* State Secrets of a cluster, turned into chunks of the local store. */
#pragma once

#include <jansson.h>

#include "common/base/error.h"

/* One subdirectory of state_fd a Secret, named as it is. */
int imported_state_write(const json_t *secrets, int state_fd, struct error *err) must_check;
