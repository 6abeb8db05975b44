/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/log.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/buffer.h"
#include "common/base/clock.h"
#include "common/base/utf8.h"

/* A line is written with one write(), so that the lines of two processes do not mix in a pipe. */
enum { LINE_MAX_BYTES = 16384, LINE_END_BYTES = 64 };

static struct {
    const char *logger;
    enum log_level level;
    enum log_format format;
    int fd;
} settings = {.logger = "longshore", .level = LOG_LEVEL_INFO, .fd = STDERR_FILENO};

static const char *const level_names[] = {"error", "info", "debug"};

void log_configure(const char *logger, enum log_level level, enum log_format format)
{
    settings.logger = logger;
    settings.level = level;
    settings.format = format;
}

void log_set_level(enum log_level level)
{
    settings.level = level;
}

enum log_level log_get_level(void)
{
    return settings.level;
}

void log_set_fd(int fd)
{
    settings.fd = fd;
}

int log_parse_level(const char *text, enum log_level *ret_level, struct error *err)
{
    for (size_t i = 0; i < array_length(level_names); i++) {
        if (strcasecmp(text, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "log level \"%s\" is not one of error, info, debug", text);
}

int log_parse_format(const char *text, enum log_format *ret_format, struct error *err)
{
    if (strcasecmp(text, "json") == 0)
        *ret_format = LOG_FORMAT_JSON;
    else if (strcasecmp(text, "text") == 0)
        *ret_format = LOG_FORMAT_TEXT;
    else
        return error_set(err, ERROR_INVALID, "log format \"%s\" is not one of text, json", text);
    return 0;
}

static void put(struct buffer *line, const char *text)
{
    struct error ignored = {0};

    /* Never fails: texts are truncated before the line is full, see has_room(). */
    (void)!buffer_append(line, text, strlen(text), &ignored);
}

/* Leaves room for the end of the line. */
static bool has_room(const struct buffer *line, size_t size)
{
    return line->size + size <= LINE_MAX_BYTES - LINE_END_BYTES;
}

/* Invalid UTF-8 would break the readers of the log, so it is replaced by U+FFFD. Returns false if
 * the text had to be truncated. */
static bool put_quoted(struct buffer *line, const char *text)
{
    size_t left = strlen(text);

    put(line, "\"");
    while (left > 0) {
        char piece[8] = {0};
        uint32_t code = 0;
        size_t length = utf8_decode(text, left, &code);

        if (!has_room(line, sizeof(piece)))
            break;
        if (length == 0)
            (void)snprintf(piece, sizeof(piece), "\\ufffd");
        else if (code == '"' || code == '\\')
            (void)snprintf(piece, sizeof(piece), "\\%c", (char)code);
        else if (code < 0x20 || code == 0x7f)
            (void)snprintf(piece, sizeof(piece), "\\u%04x", code);
        else
            memcpy(piece, text, length);
        put(line, piece);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    put(line, "\"");
    return left == 0;
}

static void put_time(struct buffer *line)
{
    int64_t now_ms = clock_unix_ms(clock_system());
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts = {0};
    char text[40] = {0};
    size_t used = 0;

    (void)gmtime_r(&seconds, &parts);
    used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + used, sizeof(text) - used, ".%03dZ", (int)(now_ms % 1000));
    put(line, text);
}

static bool put_value(struct buffer *line, const struct log_field *field)
{
    char number[24] = {0};

    if (field->text)
        return put_quoted(line, field->text);
    (void)snprintf(number, sizeof(number), "%lld", (long long)field->number);
    put(line, number);
    return true;
}

/* Quoting makes a key at most six times as long, and a number has up to 20 digits. */
static bool has_room_for_field(const struct buffer *line, const struct log_field *field)
{
    return has_room(line, strlen(field->key) * 6 + 32);
}

static void put_json(struct buffer *line, enum log_level level, const char *message,
                     const struct log_field *fields, size_t count)
{
    bool is_whole = true;

    put(line, "{\"level\":\"");
    put(line, level_names[level]);
    put(line, "\",\"ts\":\"");
    put_time(line);
    put(line, "\",\"logger\":");
    is_whole = put_quoted(line, settings.logger) && is_whole;
    put(line, ",\"msg\":");
    is_whole = put_quoted(line, message) && is_whole;
    for (size_t i = 0; i < count; i++) {
        if (!has_room_for_field(line, &fields[i])) {
            is_whole = false;
            break;
        }
        put(line, ",");
        (void)put_quoted(line, fields[i].key);
        put(line, ":");
        is_whole = put_value(line, &fields[i]) && is_whole;
    }
    put(line, is_whole ? "}" : ",\"cut\":true}");
}

static void put_plain(struct buffer *line, enum log_level level, const char *message,
                      const struct log_field *fields, size_t count)
{
    put_time(line);
    put(line, " ");
    put(line, level_names[level]);
    put(line, " ");
    put(line, message);
    for (size_t i = 0; i < count && has_room_for_field(line, &fields[i]); i++) {
        put(line, " ");
        put(line, fields[i].key);
        put(line, "=");
        (void)put_value(line, &fields[i]);
    }
}

void log_write(enum log_level level, const char *message, const struct log_field *fields,
               size_t count)
{
    cleanup_buffer struct buffer line = {0};

    if (level > settings.level)
        return;
    buffer_init(&line, LINE_MAX_BYTES);
    if (settings.format == LOG_FORMAT_JSON)
        put_json(&line, level, message, fields, count);
    else
        put_plain(&line, level, message, fields, count);
    put(&line, "\n");
    while (line.size > 0) {
        ssize_t written = write(settings.fd, line.data, line.size);

        if (written < 0 && errno == EINTR)
            continue;
        /* There is nowhere to report that the log cannot be written. */
        if (written <= 0)
            return;
        buffer_consume(&line, (size_t)written);
    }
}
