/* SPDX-License-Identifier: Apache-2.0 */
#include "e2e/fleet/query.h"

#include <ctype.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)tolower((unsigned char)digit);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* In place. */
static void decode(char *text, bool is_query)
{
    char *out = text;

    for (const char *at = text; *at; at++) {
        if (*at == '%' && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
            *out++ = (char)(hex_value(at[1]) * 16 + hex_value(at[2]));
            at += 2;
        } else {
            *out++ = is_query && *at == '+' ? ' ' : *at;
        }
    }
    *out = '\0';
}

static void split_path(struct query *query, char *path)
{
    char *rest = path;
    char *segment = NULL;

    while ((segment = strsep(&rest, "/"))) {
        if (!*segment)
            continue;
        decode(segment, false);
        if (query->segment_count < QUERY_SEGMENTS_MAX)
            query->segments[query->segment_count++] = segment;
    }
}

static void split_pairs(struct query *query, char *text)
{
    char *pair = NULL;

    while ((pair = strsep(&text, "&"))) {
        char *value = strchr(pair, '=');

        if (!*pair || query->pair_count == QUERY_PAIRS_MAX)
            continue;
        if (value)
            *value++ = '\0';
        else
            value = pair + strlen(pair);
        decode(pair, true);
        decode(value, true);
        query->pairs[query->pair_count].key = pair;
        query->pairs[query->pair_count++].value = value;
    }
}

void query_parse(const char *target, struct query *ret_query)
{
    char *mark = NULL;

    *ret_query = (struct query){.memory = xstrdup(target)};
    mark = strchr(ret_query->memory, '?');
    if (mark)
        *mark++ = '\0';
    ret_query->path = xstrdup(ret_query->memory);
    decode(ret_query->path, false);
    split_path(ret_query, ret_query->memory);
    if (mark)
        split_pairs(ret_query, mark);
}

void query_done(struct query *query)
{
    free(query->memory);
    free(query->path);
    *query = (struct query){0};
}

const char *query_get(const struct query *query, const char *key)
{
    for (size_t i = 0; i < query->pair_count; i++) {
        if (strcmp(query->pairs[i].key, key) == 0)
            return query->pairs[i].value;
    }
    return NULL;
}

bool query_flag(const struct query *query, const char *key)
{
    const char *value = query_get(query, key);

    return value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

int query_number(const struct query *query, const char *key, uint64_t max, uint64_t *ret_number,
                 struct error *err)
{
    const char *value = query_get(query, key);

    if (value && !number_parse(value, max, ret_number))
        return error_set(err, ERROR_INVALID, "parameter \"%s\" is not a number up to %llu", key,
                         (unsigned long long)max);
    return 0;
}
