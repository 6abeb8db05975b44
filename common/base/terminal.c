/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/wrap.h"

void terminal_init(struct terminal *terminal, FILE *stream)
{
    const char *type = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    struct winsize size = {0};

    *terminal = (struct terminal){.stream = stream, .width = WRAP_WIDTH};
    if (isatty(fileno(stream)) != 1)
        return;
    terminal->is_terminal = !type || strcmp(type, "dumb") != 0;
    terminal->has_color = terminal->is_terminal && !(no_color && *no_color);
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        terminal->width = size.ws_col;
}

const char *terminal_style(const struct terminal *terminal, enum terminal_style style)
{
    static const char *const sequences[] = {
        [TERMINAL_PLAIN] = "\033[0m",  [TERMINAL_BOLD] = "\033[1m",
        [TERMINAL_DIM] = "\033[2m",    [TERMINAL_GOOD] = "\033[1;32m",
        [TERMINAL_BAD] = "\033[1;31m", [TERMINAL_WARNING] = "\033[33m",
    };

    return terminal->has_color ? sequences[style] : "";
}

void terminal_print(const struct terminal *terminal, const char *text, size_t column, size_t indent)
{
    if (terminal->is_terminal)
        wrap_print(terminal->stream, text, column, indent, terminal->width);
    else
        (void)fprintf(terminal->stream, "%s\n", text);
}
