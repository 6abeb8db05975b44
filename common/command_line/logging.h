/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logging options that the controller, init and wait have in common. */
#pragma once

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/command_line/table.h"

/* The defaults are info and JSON. ERROR_INVALID names the option with the invalid value. */
int log_values_read(const struct log_values *values, enum log_level *ret_level,
                    enum log_format *ret_format, struct error *err) must_check;
