/* SPDX-License-Identifier: Apache-2.0 */
/* Structured logging: one JSON object per line on stderr, with a constant message and typed fields.
 * Programs log; common/ never does. The keys level, ts, logger and msg are those of the Go
 * deployer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
};

enum log_format {
    LOG_FORMAT_JSON,
    LOG_FORMAT_TEXT, /* "time level message key=value", for people */
};

struct log_field {
    const char *key;
    const char *text; /* NULL: the field is a number */
    int64_t number;
};

/* A function, so that an array such as err.text can be passed. NULL becomes an empty text. */
static inline struct log_field log_text(const char *key, const char *value)
{
    return (struct log_field){.key = key, .text = value ? value : ""};
}

/* A macro, so that any type of number can be passed. */
#define log_number(key_, value_)                                                                   \
    ((struct log_field){.key = (key_), .text = NULL, .number = (int64_t)(value_)})

/* Sets the process-wide configuration; the default is JSON at level info. logger is the name of the
 * program and must stay valid. */
void log_configure(const char *logger, enum log_level level, enum log_format format);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* "error", "info" or "debug", in upper or lower case. */
int log_parse_level(const char *text, enum log_level *ret_level, struct error *err) must_check;
int log_parse_format(const char *text, enum log_format *ret_format, struct error *err) must_check;

/* For tests: writes to this descriptor instead of stderr. */
void log_set_fd(int fd);

void log_write(enum log_level level, const char *message, const struct log_field *fields,
               size_t count);

#define log_at(level_, message_, ...)                                                              \
    log_write((level_), (message_), (const struct log_field[]){{0}, ##__VA_ARGS__} + 1,            \
              array_length(((const struct log_field[]){{0}, ##__VA_ARGS__})) - 1)
#define log_error(message_, ...) log_at(LOG_LEVEL_ERROR, message_, ##__VA_ARGS__)
#define log_info(message_, ...) log_at(LOG_LEVEL_INFO, message_, ##__VA_ARGS__)
#define log_debug(message_, ...) log_at(LOG_LEVEL_DEBUG, message_, ##__VA_ARGS__)
