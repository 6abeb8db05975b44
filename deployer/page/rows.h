/* SPDX-License-Identifier: Apache-2.0 */
/* What the status page lists: one small row for each object of a kind, with counts by state. A
 * change costs the same whatever the number of rows; a query looks at all of them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ROWS_STATES_MAX = 16,
    ROWS_LIMIT_MAX = 200, /* of a page of a query */
    ROWS_TEXT_MAX = 256,  /* of each text of a row; longer ones are cut off */
};

/* Texts are never NULL; times are 0 if unknown. */
struct row {
    const char *namespace_name, *name, *type, *reason;
    uint8_t state; /* below ROWS_STATES_MAX */
    int64_t changed_unix_ms, started_unix_ms, finished_unix_ms;
};

enum rows_order { ROWS_BY_CHANGE, ROWS_BY_NAME, ROWS_BY_DURATION };

struct rows_query {
    const char *search; /* part of "namespace/name", type or reason, without case; or NULL */
    const char *namespace_name; /* or NULL: any */
    const char *type;           /* or NULL: any */
    uint32_t states;            /* bit for each state that is wanted; 0: any */
    enum rows_order order;      /* ROWS_BY_CHANGE: latest first, ROWS_BY_DURATION: longest first */
    bool is_reverse;
    size_t offset, limit; /* limit: at most ROWS_LIMIT_MAX */
    int64_t now_unix_ms;  /* for the duration of what has not ended */
};

struct rows_namespace {
    const char *name;
    size_t total, counts[ROWS_STATES_MAX];
};

struct rows;

struct rows *rows_new(void);
void rows_free(struct rows *rows); /* NULL is fine */

/* Adds the row or replaces the one of the same name. The texts are copied. Returns whether anything
 * has changed. */
bool rows_set(struct rows *rows, const struct row *row);
bool rows_remove(struct rows *rows, const char *namespace_name, const char *name);
/* NULL: none. Borrowed until the rows change. */
const struct row *rows_find(const struct rows *rows, const char *namespace_name, const char *name);
size_t rows_count(const struct rows *rows, uint8_t state);
size_t rows_total(const struct rows *rows);

/* Fills at most query->limit rows, which are borrowed until the rows change. Returns their number;
 * *ret_total is that of all rows that match. */
size_t rows_find_all(const struct rows *rows, const struct rows_query *query,
                     const struct row *ret_rows[ROWS_LIMIT_MAX], size_t *ret_total);

/* The rows of a namespace by state; namespace_name NULL: of all. */
void rows_count_namespace(const struct rows *rows, const char *namespace_name,
                          size_t ret_counts[ROWS_STATES_MAX]);
/* The same as rows_find_all() for the namespaces of rows, in the order of their names. Of the query
 * only search (part of the name), offset and limit count. Rows without a namespace are ignored. */
size_t rows_find_namespaces(const struct rows *rows, const struct rows_query *query,
                            struct rows_namespace ret_namespaces[ROWS_LIMIT_MAX],
                            size_t *ret_total);
