/* SPDX-License-Identifier: Apache-2.0 */
/* The part of beneath.h without I/O: checking, normalizing and displaying paths. */
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

static bool is_control(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f;
}

/* The length of the UTF-8 sequence at text, 0 if it is invalid. Does not read past the NUL, which
 * is not a continuation byte. */
static size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80                      ? 1
                    : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                    : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                    : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                        : 0;

    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates and code points above U+10FFFF. */
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

struct beneath_shown beneath_show(const char *path)
{
    struct beneath_shown shown = {0};
    const unsigned char *from = (const unsigned char *)path;
    const size_t room = sizeof(shown.text) - sizeof("...");
    size_t used = 0;

    while (*from) {
        size_t length = utf8_length(from);

        if (used + (length ? length : 1) > room) {
            memcpy(shown.text + used, "...", sizeof("..."));
            break;
        }
        if (!length || is_control(*from)) {
            shown.text[used++] = '?';
            from++;
            continue;
        }
        memcpy(shown.text + used, from, length);
        used += length;
        from += length;
    }
    return shown;
}

static int clean_path(const char *path, unsigned depth_max, bool is_plain, char **ret_path,
                      struct error *err)
{
    struct beneath_shown shown = beneath_show(path);
    size_t size = strlen(path), used = 0;
    cleanup_free char *clean = NULL;
    unsigned depth = 0;

    if (size >= BENEATH_PATH_MAX)
        return error_set(err, ERROR_INVALID, "path \"%s\" is longer than %d bytes", shown.text,
                         BENEATH_PATH_MAX - 1);
    if (path[0] == '/')
        return error_set(err, ERROR_INVALID, "path \"%s\" is absolute", shown.text);

    clean = xmalloc(size + 1);
    for (const char *from = path; *from;) {
        size_t length = strcspn(from, "/");

        if (length > BENEATH_NAME_MAX)
            return error_set(err, ERROR_INVALID,
                             "path \"%s\" has a component of more than %d bytes", shown.text,
                             BENEATH_NAME_MAX);
        if (length == 2 && from[0] == '.' && from[1] == '.')
            return error_set(err, ERROR_INVALID, "path \"%s\" contains '..'", shown.text);
        for (size_t i = 0; is_plain && i < length; i++) {
            if (is_control((unsigned char)from[i]) || from[i] == '\\')
                return error_set(err, ERROR_INVALID,
                                 "path \"%s\" has a control character or a backslash", shown.text);
        }
        if (length && !(length == 1 && from[0] == '.')) {
            if (++depth > depth_max)
                return error_set(err, ERROR_TOO_LARGE, "path \"%s\" is deeper than %u", shown.text,
                                 depth_max);
            if (used)
                clean[used++] = '/';
            memcpy(clean + used, from, length);
            used += length;
        }
        from += length;
        from += strspn(from, "/");
    }
    clean[used] = '\0';
    *ret_path = steal(&clean);
    return 0;
}

int beneath_clean_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
{
    return clean_path(path, depth_max, true, ret_path, err);
}

int beneath_clean_any_path(const char *path, unsigned depth_max, char **ret_path, struct error *err)
{
    return clean_path(path, depth_max, false, ret_path, err);
}
