/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/utf8.h"

enum { TEXT_SIZE = sizeof(((struct error *)NULL)->text) };

/* Removes an incomplete UTF-8 character at the end of a truncated text. */
static void drop_incomplete_character(char *text, size_t length)
{
    size_t start = length;
    uint32_t code = 0;

    while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && (unsigned char)text[start - 1] >= 0xc0 &&
        !utf8_decode(text + start - 1, length - start + 1, &code))
        text[start - 1] = '\0';
}

/* Formats into a separate buffer, because the arguments may be taken from err itself. */
static printf_like(2, 0) void format_text(char text[TEXT_SIZE], const char *format,
                                          va_list arguments)
{
    int length = vsnprintf(text, TEXT_SIZE, format, arguments);

    if (length < 0)
        text[0] = '\0';
    else if (length >= TEXT_SIZE)
        drop_incomplete_character(text, TEXT_SIZE - 1);
}

/* "text: cause" */
static void append_cause(char text[TEXT_SIZE], const char *cause)
{
    size_t used = strlen(text);
    int length = snprintf(text + used, TEXT_SIZE - used, ": %s", cause);

    if (length >= 0 && used + (size_t)length >= TEXT_SIZE)
        drop_incomplete_character(text, TEXT_SIZE - 1);
}

void error_write(struct error *err, enum error_kind kind, const char *format, ...)
{
    char text[TEXT_SIZE] = {0};
    va_list arguments;

    va_start(arguments, format);
    format_text(text, format, arguments);
    va_end(arguments);
    *err = (struct error){.kind = kind};
    memcpy(err->text, text, sizeof(text));
}

static enum error_kind kind_of_errno(int os)
{
    switch (os) {
    case ENOENT:
        return ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
        return ERROR_DENIED;
    case EEXIST:
        return ERROR_EXISTS;
    case EINTR:
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNRESET:
    case ETIMEDOUT:
        return ERROR_TEMPORARY;
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
        return ERROR_INVALID;
    case EFBIG:
    case EOVERFLOW:
        return ERROR_TOO_LARGE;
    default:
        return ERROR_INTERNAL;
    }
}

void error_write_errno(struct error *err, int os, const char *format, ...)
{
    char text[TEXT_SIZE] = {0};
    va_list arguments;

    va_start(arguments, format);
    format_text(text, format, arguments);
    va_end(arguments);
    append_cause(text, strerror(os));
    *err = (struct error){.kind = kind_of_errno(os), .os = os};
    memcpy(err->text, text, sizeof(text));
}

void error_prefix(struct error *err, const char *format, ...)
{
    char text[TEXT_SIZE] = {0};
    va_list arguments;

    va_start(arguments, format);
    format_text(text, format, arguments);
    va_end(arguments);
    append_cause(text, err->text);
    memcpy(err->text, text, sizeof(text));
}

const char *error_kind_name(enum error_kind kind)
{
    switch (kind) {
    case ERROR_NONE:
        return "none";
    case ERROR_INVALID:
        return "invalid";
    case ERROR_NOT_FOUND:
        return "not-found";
    case ERROR_DENIED:
        return "denied";
    case ERROR_EXISTS:
        return "exists";
    case ERROR_CONFLICT:
        return "conflict";
    case ERROR_GONE:
        return "gone";
    case ERROR_TOO_LARGE:
        return "too-large";
    case ERROR_TEMPORARY:
        return "temporary";
    case ERROR_CANCELLED:
        return "cancelled";
    case ERROR_INTERNAL:
        return "internal";
    }
    return "internal";
}

void error_keep(struct error **kept, const struct error *err)
{
    free(*kept);
    *kept = err ? xmemdup(err, sizeof(*err)) : NULL;
}
