/* SPDX-License-Identifier: Apache-2.0 */
#include "common/command_line/logging.h"

int log_values_read(const struct log_values *values, enum log_level *ret_level,
                    enum log_format *ret_format, struct error *err)
{
    *ret_level = values->is_dev ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
    *ret_format = values->is_dev || values->is_cli ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON;
    if (values->verbosity && log_parse_level(values->verbosity, ret_level, err) < 0)
        return error_wrap(err, "option --verbosity");
    if (values->format && log_parse_format(values->format, ret_format, err) < 0)
        return error_wrap(err, "option --format");
    return 0;
}
