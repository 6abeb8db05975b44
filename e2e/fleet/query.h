/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request: its path in segments and its query, both decoded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { QUERY_SEGMENTS_MAX = 12, QUERY_PAIRS_MAX = 24 };

struct query {
    char *path; /* decoded, as it was sent */
    char *segments[QUERY_SEGMENTS_MAX];
    size_t segment_count;
    struct {
        char *key, *value;
    } pairs[QUERY_PAIRS_MAX];
    size_t pair_count;
    char *memory; /* that all texts point into */
};

/* target is "/api/v1/pods?limit=1". What exceeds the limits is dropped. */
void query_parse(const char *target, struct query *ret_query);
void query_done(struct query *query);
#define cleanup_query __attribute__((cleanup(query_done)))

/* The value of a parameter, or NULL. */
const char *query_get(const struct query *query, const char *key);
/* "true" or "1". */
bool query_flag(const struct query *query, const char *key);
/* Keeps *ret_number if the parameter is missing; ERROR_INVALID if it is not a number up to max. */
int query_number(const struct query *query, const char *key, uint64_t max, uint64_t *ret_number,
                 struct error *err) must_check;
