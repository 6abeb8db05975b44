/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/summary.h"

#include <stdarg.h>
#include <string.h>

void summary_add(struct summary *summary, const char *format, ...)
{
    char part[SUMMARY_PART_SIZE] = "";
    va_list arguments;

    if (summary->count++ >= SUMMARY_PARTS_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    if (!summary->text.max)
        buffer_init(&summary->text, (size_t)SUMMARY_PARTS_MAX * SUMMARY_PART_SIZE);
    if (summary->text.size > 0)
        buffer_append_tail(&summary->text, "; ", 2);
    buffer_append_tail(&summary->text, part, strlen(part));
}

char *summary_take(struct summary *summary)
{
    size_t more = summary->count > SUMMARY_PARTS_MAX ? summary->count - SUMMARY_PARTS_MAX : 0;
    char end[48] = "";

    if (summary->count == 0)
        return NULL;
    if (more > 0) {
        (void)snprintf(end, sizeof(end), "; and %zu more", more);
        buffer_append_tail(&summary->text, end, strlen(end));
    }
    summary->count = 0;
    return buffer_take(&summary->text);
}
