/* SPDX-License-Identifier: Apache-2.0 */
/* The logging flags, which the controller, init and wait have in common. */
#pragma once

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/command_line/table.h"

/* Info and JSON, unless the flags say otherwise; ERROR_INVALID names the one that is wrong. */
int log_values_read(const struct log_values *values, enum log_level *ret_level,
                    enum log_format *ret_format, struct error *err) must_check;
