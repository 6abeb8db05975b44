/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>

/* Prints the document of compare.h to stdout for people, in color if stdout is a terminal. */
void print_comparison(const json_t *document);
