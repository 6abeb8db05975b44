/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a cleaned path is relative, has no "..", "." or empty component, is within the
 * limits, and cleaning it again does not change it. The displayed form of any path is printable
 * text. */
#include <stdint.h>
#include <string.h>

#include "common/archive/beneath.h"
#include "common/base/memory.h"

enum { DEPTH_MAX = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clean(const char *path)
{
    unsigned depth = 0;

    if (path[0] == '/' || strlen(path) >= BENEATH_PATH_MAX)
        abort();
    for (const char *name = path; *path && name; depth++) {
        size_t length = strcspn(name, "/");

        if (!length || length > BENEATH_NAME_MAX || (length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.'))
            abort();
        name = name[length] ? name + length + 1 : NULL;
    }
    if (depth > DEPTH_MAX)
        abort();
}

static void check_shown(const char *path)
{
    struct beneath_shown shown = beneath_show(path);

    if (!memchr(shown.text, '\0', sizeof(shown.text)))
        abort();
    for (const char *byte = shown.text; *byte; byte++) {
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            abort();
    }
    /* Formatting it again changes nothing unless it was truncated, since all of it is UTF-8. */
    if (strlen(shown.text) <= sizeof(shown.text) - sizeof("...") &&
        strcmp(beneath_show(shown.text).text, shown.text) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *path = xstrndup((const char *)data, size);
    cleanup_free char *plain = NULL, *any = NULL, *again = NULL;
    struct error err = {0};

    check_shown(path);
    if (beneath_clean_any_path(path, DEPTH_MAX, &any, &err) < 0) {
        if (beneath_clean_path(path, DEPTH_MAX, &plain, &err) == 0)
            abort();
        return 0;
    }
    check_clean(any);
    if (beneath_clean_any_path(any, DEPTH_MAX, &again, &err) < 0 || strcmp(any, again) != 0)
        abort();
    if (beneath_clean_path(path, DEPTH_MAX, &plain, &err) == 0 && strcmp(plain, any) != 0)
        abort();
    return 0;
}
