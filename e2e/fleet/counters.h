/* SPDX-License-Identifier: Apache-2.0 */
/* What a cluster was asked: requests by verb, resource and code; connections and bytes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "e2e/fleet/text_pool.h"

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETE_COLLECTION,
    VERB_OTHER, /* discovery, reviews, unknown paths */
};
const char *verb_name(enum verb verb);

struct counter {
    struct text *resource; /* "deployments.apps", "pods/status", or "" */
    uint32_t count;
    uint16_t code; /* 0: not answered */
    uint8_t verb;
};

struct counters {
    struct counter *rows;
    size_t count;
    uint64_t requests, writes; /* writes: changes of objects that were requested, whatever came of
                                * it */
    uint64_t connections, handshakes, resumed_handshakes, failed_handshakes;
    uint64_t bytes_received, bytes_sent;
    uint64_t watch_events;
    uint32_t open_connections, open_watches;
    uint32_t in_flight, most_in_flight; /* requests whose response has not begun */
};

void counters_done(struct counters *counters, struct text_pool *pool);
/* Sets everything to 0 but what is open. */
void counters_reset(struct counters *counters, struct text_pool *pool);
/* A request has arrived. */
void counters_begin(struct counters *counters);
void counters_note(struct counters *counters, struct text_pool *pool, enum verb verb,
                   const char *resource, int code);
/* Adds these counters to a sum, whose most_in_flight is that of one cluster. */
void counters_add(struct counters *sum, struct text_pool *pool, const struct counters *more);
/* {"requests": 3, ..., "byRequest": [{"verb": ..., "resource": ..., "code": ..., "count": ...}]}. A
 * new reference. */
json_t *counters_json(const struct counters *counters);
