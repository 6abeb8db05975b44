/* SPDX-License-Identifier: Apache-2.0 */
#include "init/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { INTERVAL_MS = 100, LINE_MAX_BYTES = 160, WIDTH = 78 };

void progress_init(struct progress *progress, int fd, struct clock *clock)
{
    *progress = (struct progress){.fd = isatty(fd) ? fd : -1, .clock = clock};
}

static void write_line(const struct progress *progress, const char *text, size_t size)
{
    /* Progress is not worth a failure. */
    (void)!write(progress->fd, text, size);
}

static bool is_due(struct progress *progress, bool is_last)
{
    uint64_t now_ms = 0;

    if (progress->fd < 0)
        return false;
    now_ms = clock_monotonic_ms(progress->clock);
    if (progress->is_shown && !is_last && now_ms - progress->shown_at_ms < INTERVAL_MS)
        return false;
    progress->shown_at_ms = now_ms;
    progress->is_shown = true;
    return true;
}

static void format_size(uint64_t bytes, char text[16])
{
    if (bytes < 1024)
        (void)snprintf(text, 16, "%" PRIu64 " B", bytes);
    else if (bytes < (uint64_t)1024 * 1024)
        (void)snprintf(text, 16, "%.1f KiB", (double)bytes / 1024);
    else
        (void)snprintf(text, 16, "%.1f MiB", (double)bytes / (1024 * 1024));
}

static void show(const struct progress *progress, const char *text)
{
    char line[LINE_MAX_BYTES];
    int length = snprintf(line, sizeof(line), "\r%-*.*s", WIDTH, WIDTH, text);

    if (length > 0)
        write_line(progress, line, strlen(line));
}

void progress_components(struct progress *progress, size_t done, size_t known, uint64_t bytes)
{
    char text[LINE_MAX_BYTES];
    char size[16];

    if (!is_due(progress, done == known))
        return;
    format_size(bytes, size);
    (void)snprintf(text, sizeof(text), "components: %zu of %zu, %s", done, known, size);
    show(progress, text);
}

void progress_bytes(struct progress *progress, const char *what, uint64_t bytes, uint64_t total)
{
    char text[LINE_MAX_BYTES];
    char size[16];
    char whole[16];

    if (!is_due(progress, bytes == total))
        return;
    format_size(bytes, size);
    format_size(total, whole);
    if (total > 0)
        (void)snprintf(text, sizeof(text), "%s: %s of %s (%" PRIu64 " %%)", what, size, whole,
                       bytes * 100 / total);
    else
        (void)snprintf(text, sizeof(text), "%s: %s", what, size);
    show(progress, text);
}

void progress_clear(struct progress *progress)
{
    if (progress->fd < 0 || !progress->is_shown)
        return;
    show(progress, "");
    write_line(progress, "\r", 1);
    progress->is_shown = false;
}
