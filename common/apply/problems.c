/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"

void problem_list_done(struct problem_list *list)
{
    while (list->count)
        free(list->texts[--list->count]);
    free(list->texts);
}

void problem_list_add(struct problem_list *list, const char *field, const char *format, ...)
{
    char text[sizeof(((struct error *)NULL)->text)];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    list->texts = xreallocarray(list->texts, list->count + 1, sizeof(*list->texts));
    list->texts[list->count++] = field ? xasprintf("%s: %s", field, text) : xstrdup(text);
}

void problem_list_error(const struct problem_list *list, enum error_kind kind,
                        struct error *ret_err)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    size_t shown = 0;

    if (list->count == 0)
        return;
    buffer_init(&text, sizeof(ret_err->text) - sizeof("; and 10000 more"));
    while (shown < list->count &&
           buffer_append_text(&text, &ignored, "%s%s", shown ? "; " : "", list->texts[shown]) == 0)
        shown++;
    if (shown == list->count)
        (void)error_set(ret_err, kind, "%s", text.data);
    else if (shown > 0)
        (void)error_set(ret_err, kind, "%s; and %zu more", text.data, list->count - shown);
    else
        (void)error_set(ret_err, kind, "%s", list->texts[0]);
}
