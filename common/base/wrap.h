/* SPDX-License-Identifier: Apache-2.0 */
/* Text in lines of limited width, for help and messages on a terminal. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* The width of help texts, and of messages where the width of the terminal is not known. */
enum { WRAP_WIDTH = 80 };

/* Prints text, with lines broken at blanks so that none is wider than width, and a newline at the
 * end. The first line begins at column, where the cursor is; the others are indented by indent
 * blanks. Words are never broken: a longer one gets a line of its own. A newline in text begins a
 * new line. Columns are counted as characters of UTF-8. */
void wrap_print(FILE *out, const char *text, size_t column, size_t indent, size_t width);
