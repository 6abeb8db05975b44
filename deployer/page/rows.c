/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/page/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

enum { BUCKETS_FIRST = 64 };

struct node {
    struct node *next; /* in its bucket */
    uint32_t hash;
    struct row row;
    char texts[]; /* namespace, name, type, reason */
};

struct rows {
    struct node **buckets;
    size_t bucket_count, total;
    size_t counts[ROWS_STATES_MAX];
};

struct rows *rows_new(void)
{
    struct rows *rows = xcalloc(1, sizeof(*rows));

    rows->bucket_count = BUCKETS_FIRST;
    rows->buckets = xcalloc(rows->bucket_count, sizeof(struct node *));
    return rows;
}

void rows_free(struct rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->bucket_count; i++) {
        while (rows->buckets[i]) {
            struct node *node = rows->buckets[i];

            rows->buckets[i] = node->next;
            free(node);
        }
    }
    free(rows->buckets);
    free(rows);
}

/* ---- Names ---- */

static uint32_t hash_of(const char *namespace_name, const char *name)
{
    uint32_t hash = hash_bytes(HASH_FIRST, namespace_name, strlen(namespace_name) + 1);

    return hash_bytes(hash, name, strlen(name));
}

static struct node **place_of(const struct rows *rows, uint32_t hash, const char *namespace_name,
                              const char *name)
{
    struct node **place = &rows->buckets[hash % rows->bucket_count];

    while (*place && ((*place)->hash != hash || strcmp((*place)->row.name, name) != 0 ||
                      strcmp((*place)->row.namespace_name, namespace_name) != 0))
        place = &(*place)->next;
    return place;
}

const struct row *rows_find(const struct rows *rows, const char *namespace_name, const char *name)
{
    struct node *node = *place_of(rows, hash_of(namespace_name, name), namespace_name, name);

    return node ? &node->row : NULL;
}

static void grow(struct rows *rows)
{
    size_t count = rows->bucket_count * 2;
    struct node **buckets = xcalloc(count, sizeof(struct node *));

    for (size_t i = 0; i < rows->bucket_count; i++) {
        while (rows->buckets[i]) {
            struct node *node = rows->buckets[i];

            rows->buckets[i] = node->next;
            node->next = buckets[node->hash % count];
            buckets[node->hash % count] = node;
        }
    }
    free(rows->buckets);
    rows->buckets = buckets;
    rows->bucket_count = count;
}

/* ---- Changes ---- */

static struct node *node_new(const struct row *row, uint32_t hash)
{
    const char *from[] = {row->namespace_name, row->name, row->type, row->reason};
    size_t lengths[array_length(from)], total = 0;
    const char *to[array_length(from)];
    struct node *node = NULL;
    char *text = NULL;

    for (size_t i = 0; i < array_length(from); i++) {
        lengths[i] = strnlen(from[i], ROWS_TEXT_MAX);
        total += lengths[i] + 1;
    }
    node = xcalloc(1, sizeof(*node) + total);
    text = node->texts;
    for (size_t i = 0; i < array_length(from); i++) {
        memcpy(text, from[i], lengths[i]);
        to[i] = text;
        text += lengths[i] + 1;
    }
    node->hash = hash;
    node->row = *row;
    node->row.namespace_name = to[0];
    node->row.name = to[1];
    node->row.type = to[2];
    node->row.reason = to[3];
    return node;
}

static bool is_same(const struct row *a, const struct row *b)
{
    return a->state == b->state && a->changed_unix_ms == b->changed_unix_ms &&
           a->started_unix_ms == b->started_unix_ms && a->finished_unix_ms == b->finished_unix_ms &&
           strncmp(a->type, b->type, ROWS_TEXT_MAX) == 0 &&
           strncmp(a->reason, b->reason, ROWS_TEXT_MAX) == 0;
}

bool rows_set(struct rows *rows, const struct row *row)
{
    uint32_t hash = hash_of(row->namespace_name, row->name);
    struct node **place = place_of(rows, hash, row->namespace_name, row->name);
    struct node *old = *place, *new = NULL;

    if (old && is_same(&old->row, row))
        return false;
    new = node_new(row, hash);
    rows->counts[row->state]++;
    new->next = old ? old->next : NULL;
    *place = new;
    if (old) {
        rows->counts[old->row.state]--;
        free(old);
        return true;
    }
    rows->total++;
    if (rows->total > rows->bucket_count)
        grow(rows);
    return true;
}

bool rows_remove(struct rows *rows, const char *namespace_name, const char *name)
{
    struct node **place = place_of(rows, hash_of(namespace_name, name), namespace_name, name);
    struct node *node = *place;

    if (!node)
        return false;
    *place = node->next;
    rows->counts[node->row.state]--;
    rows->total--;
    free(node);
    return true;
}

size_t rows_count(const struct rows *rows, uint8_t state)
{
    return rows->counts[state];
}

size_t rows_total(const struct rows *rows)
{
    return rows->total;
}

/* ---- Queries ---- */

static bool is_found(const struct row *row, const char *search)
{
    char key[2 * ROWS_TEXT_MAX + 2];

    if (strcasestr(row->type, search) || strcasestr(row->reason, search))
        return true;
    (void)snprintf(key, sizeof(key), "%s/%s", row->namespace_name, row->name);
    return strcasestr(key, search) != NULL;
}

static bool is_wanted(const struct row *row, const struct rows_query *query)
{
    if (query->states && !(query->states & (1u << row->state)))
        return false;
    if (query->namespace_name && strcmp(query->namespace_name, row->namespace_name) != 0)
        return false;
    if (query->type && strcmp(query->type, row->type) != 0)
        return false;
    return !query->search || !*query->search || is_found(row, query->search);
}

static int64_t duration_of(const struct row *row, int64_t now_unix_ms)
{
    int64_t end = row->finished_unix_ms ? row->finished_unix_ms : now_unix_ms;

    return row->started_unix_ms ? end - row->started_unix_ms : -1;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *first, const void *second, void *data)
{
    const struct row *a = *(const struct row *const *)first;
    const struct row *b = *(const struct row *const *)second;
    const struct rows_query *query = data;
    int result = 0;

    if (query->order == ROWS_BY_CHANGE)
        result = compare_numbers(b->changed_unix_ms, a->changed_unix_ms);
    if (query->order == ROWS_BY_DURATION)
        result =
            compare_numbers(duration_of(b, query->now_unix_ms), duration_of(a, query->now_unix_ms));
    if (result == 0)
        result = strcmp(a->namespace_name, b->namespace_name);
    if (result == 0)
        result = strcmp(a->name, b->name);
    return query->is_reverse ? -result : result;
}

typedef bool choose_fn(const struct row *row, const struct rows_query *query);

/* All rows that are chosen, sorted. The list belongs to the caller. */
static const struct row **choose(const struct rows *rows, const struct rows_query *query,
                                 choose_fn *is_chosen, size_t *ret_count)
{
    const struct row **found = xcalloc(rows->total + 1, sizeof(struct row *));
    struct rows_query order = *query;
    size_t count = 0;

    for (size_t i = 0; i < rows->bucket_count; i++) {
        for (const struct node *node = rows->buckets[i]; node; node = node->next) {
            if (is_chosen(&node->row, query))
                found[count++] = &node->row;
        }
    }
    qsort_r(found, count, sizeof(struct row *), compare, &order);
    *ret_count = count;
    return found;
}

size_t rows_find_all(const struct rows *rows, const struct rows_query *query,
                     const struct row *ret_rows[ROWS_LIMIT_MAX], size_t *ret_total)
{
    size_t count = 0, filled = 0;
    cleanup_free const struct row **found = choose(rows, query, is_wanted, &count);

    for (size_t i = query->offset; i < count && filled < query->limit && filled < ROWS_LIMIT_MAX;
         i++)
        ret_rows[filled++] = found[i];
    *ret_total = count;
    return filled;
}

/* ---- Namespaces ---- */

void rows_count_namespace(const struct rows *rows, const char *namespace_name,
                          size_t ret_counts[ROWS_STATES_MAX])
{
    if (!namespace_name) {
        memcpy(ret_counts, rows->counts, sizeof(rows->counts));
        return;
    }
    memset(ret_counts, 0, sizeof(rows->counts));
    for (size_t i = 0; i < rows->bucket_count; i++) {
        for (const struct node *node = rows->buckets[i]; node; node = node->next)
            ret_counts[node->row.state] += strcmp(node->row.namespace_name, namespace_name) == 0;
    }
}

static bool is_namespace_wanted(const struct row *row, const struct rows_query *query)
{
    return *row->namespace_name &&
           (!query->search || strcasestr(row->namespace_name, query->search));
}

size_t rows_find_namespaces(const struct rows *rows, const struct rows_query *query,
                            struct rows_namespace ret_namespaces[ROWS_LIMIT_MAX], size_t *ret_total)
{
    const struct rows_query by_name = {.search = query->search, .order = ROWS_BY_NAME};
    size_t limit = query->limit < ROWS_LIMIT_MAX ? query->limit : ROWS_LIMIT_MAX;
    size_t count = 0, total = 0, filled = 0;
    cleanup_free const struct row **found = choose(rows, &by_name, is_namespace_wanted, &count);

    for (size_t i = 0; i < count; i++) {
        const char *name = found[i]->namespace_name;

        if (i == 0 || strcmp(found[i - 1]->namespace_name, name) != 0) {
            if (total >= query->offset && filled < limit)
                ret_namespaces[filled++] = (struct rows_namespace){.name = name};
            total++;
        }
        if (total > query->offset && total == query->offset + filled) {
            ret_namespaces[filled - 1].total++;
            ret_namespaces[filled - 1].counts[found[i]->state]++;
        }
    }
    *ret_total = total;
    return filled;
}
