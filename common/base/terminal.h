/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream is: a terminal, with or without colors, or something else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum terminal_style {
    TERMINAL_PLAIN, /* back to normal */
    TERMINAL_BOLD,
    TERMINAL_DIM,
    TERMINAL_GOOD,    /* green */
    TERMINAL_BAD,     /* red */
    TERMINAL_WARNING, /* yellow */
};

struct terminal {
    FILE *stream;     /* borrowed */
    bool is_terminal; /* lines can be overwritten */
    bool has_color;
    size_t width; /* columns; 80 if they are not known */
};

/* Colors are used on terminals, unless the variable NO_COLOR is set and not empty
 * (https://no-color.org) or TERM is "dumb", which cannot overwrite lines either. */
void terminal_init(struct terminal *terminal, FILE *stream);
/* The escape sequence for a style, "" without colors. A constant. */
const char *terminal_style(const struct terminal *terminal, enum terminal_style style);
/* Prints text and a newline: on a terminal wrapped at its width (wrap.h), else as one line. */
void terminal_print(const struct terminal *terminal, const char *text, size_t column,
                    size_t indent);
