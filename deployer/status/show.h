/* SPDX-License-Identifier: Apache-2.0 */
/* Prints views (view.h) for people, to stdout. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "deployer/status/view.h"

/* Widths of the columns of a list, so that rows that are printed later fit. */
struct show_columns {
    size_t namespace_width, name_width, type_width, phase_width;
    size_t screen_width; /* rows are cut there; 0: not a terminal */
};

void show_columns_init(struct show_columns *columns);
void show_columns_add(struct show_columns *columns, const struct view *view);
void show_header(const struct show_columns *columns);
void show_row(const struct show_columns *columns, const struct view *view, int64_t now_unix_ms);

/* Everything about one item. notes: what could not be read, or NULL. */
void show_item(const struct view *view, int64_t now_unix_ms);
/* The lines that differ from the view before. */
void show_changes(const struct view *before, const struct view *view, int64_t now_unix_ms);
/* Last error and hint, if there is an error. */
void show_error(const struct view *view);
/* The end of a container's log; origin says where it comes from. */
void show_log(const char *container, const char *origin, const char *text);
