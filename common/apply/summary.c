/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/summary.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"

void summary_done(struct summary *summary)
{
    while (summary->count)
        free(summary->texts[--summary->count]);
    free(summary->texts);
    *summary = (struct summary){0};
}

/* Takes the text over. */
static void append(struct summary *summary, char *text)
{
    summary->texts = xreallocarray(summary->texts, summary->count + 1, sizeof(*summary->texts));
    summary->texts[summary->count++] = text;
}

void summary_add(struct summary *summary, const char *format, ...)
{
    char text[SUMMARY_PART_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    append(summary, xstrdup(text));
}

void summary_add_field(struct summary *summary, const char *field, const char *format, ...)
{
    char text[SUMMARY_PART_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    append(summary, xasprintf("%s: %s", field, text));
}

/* Appends up to max texts, as far as there is room. Returns how many. */
static size_t join(const struct summary *summary, size_t max, struct buffer *text)
{
    struct error ignored = {0};
    size_t count = 0;

    while (count < summary->count && count < max &&
           buffer_append_text(text, &ignored, "%s%s", count ? "; " : "", summary->texts[count]) ==
               0)
        count++;
    return count;
}

char *summary_take(struct summary *summary)
{
    cleanup_buffer struct buffer text = {0};
    struct error ignored = {0};
    size_t shown = 0;

    if (summary->count == 0)
        return NULL;
    buffer_init(&text, (size_t)SUMMARY_PARTS_MAX * (SUMMARY_PART_SIZE + 2) + 48);
    shown = join(summary, SUMMARY_PARTS_MAX, &text);
    if (shown < summary->count)
        (void)!buffer_append_text(&text, &ignored, "; and %zu more", summary->count - shown);
    summary_done(summary);
    return buffer_take(&text);
}

void summary_error(const struct summary *summary, enum error_kind kind, struct error *ret_err)
{
    cleanup_buffer struct buffer text = {0};
    size_t shown = 0;

    if (summary->count == 0)
        return;
    buffer_init(&text, sizeof(ret_err->text) - sizeof("; and 10000 more"));
    shown = join(summary, SIZE_MAX, &text);
    if (shown == summary->count)
        (void)error_set(ret_err, kind, "%s", text.data);
    else if (shown > 0)
        (void)error_set(ret_err, kind, "%s; and %zu more", text.data, summary->count - shown);
    else
        (void)error_set(ret_err, kind, "%s", summary->texts[0]);
}
