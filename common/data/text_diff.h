/* SPDX-License-Identifier: Apache-2.0 */
/* The difference between two texts, line by line. Pure. */
#pragma once

/* The hunks of a unified diff, as `diff -u` prints them, with three lines of context and without
 * the two lines that name the files. "" if the texts are equal. A text whose last line has no
 * newline is treated as if it had one. Texts with very many differences are not compared further:
 * everything between the first and the last of them is replaced. Belongs to the caller. */
char *text_diff(const char *before, const char *after);
