/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/controller/check_table.h"

#include <stdlib.h>
#include <string.h>

void check_table_add(struct check_table *table, char *cluster, char *namespace_name, char *resource,
                     char *verbs, char *result, char *purpose)
{
    char *const cells[CHECK_COLUMNS] = {cluster, namespace_name, resource, verbs, result, purpose};

    memcpy(table->cells[table->count++], cells, sizeof(cells));
}

void check_table_print(const struct check_table *table, FILE *file)
{
    int widths[CHECK_COLUMNS] = {0};

    for (size_t row = 0; row < table->count; row++) {
        for (size_t column = 0; column < CHECK_COLUMNS - 1; column++) {
            int width = (int)strlen(table->cells[row][column]);

            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    for (size_t row = 0; row < table->count; row++) {
        for (size_t column = 0; column < CHECK_COLUMNS - 1; column++)
            (void)fprintf(file, "%-*s  ", widths[column], table->cells[row][column]);
        (void)fprintf(file, "%s\n", table->cells[row][CHECK_COLUMNS - 1]);
    }
}

void check_table_done(struct check_table *table)
{
    for (size_t row = 0; row < table->count; row++) {
        for (size_t column = 0; column < CHECK_COLUMNS; column++)
            free(table->cells[row][column]);
    }
}
