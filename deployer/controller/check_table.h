/* SPDX-License-Identifier: Apache-2.0 */
/* The table that `controller --check` prints. */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { CHECK_COLUMNS = 6, CHECK_ROWS_MAX = 64 };

struct check_table {
    char *cells[CHECK_ROWS_MAX][CHECK_COLUMNS];
    size_t count;
    size_t problems; /* rows whose result is not "ok" */
};

/* Takes the cells over: cluster, namespace, resource, verbs, result, purpose. There must be room. */
void check_table_add(struct check_table *table, char *cluster, char *namespace_name, char *resource,
                     char *verbs, char *result, char *purpose);
void check_table_print(const struct check_table *table, FILE *file);
void check_table_done(struct check_table *table); /* frees the cells */
