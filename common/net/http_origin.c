/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/net/http_nghttp2.h"

enum { BUCKETS_FIRST = 8 };

size_t origin_length(const char *url)
{
    return strlen("https://") + strcspn(url + strlen("https://"), "/?#");
}

static uint32_t hash_of(const struct http_tls *tls, const char *url, size_t length)
{
    return hash_bytes(hash_bytes(HASH_FIRST, (const char *)&tls, sizeof(const void *)), url,
                      length);
}

static struct origin **place_of(const struct http_nghttp2 *state, const struct origin *origin)
{
    struct origin **place = &state->buckets[origin->hash & (state->bucket_count - 1)];

    while (*place != origin)
        place = &(*place)->next;
    return place;
}

struct origin *origin_find(const struct http_nghttp2 *state, const struct http_tls *tls,
                           const char *url)
{
    size_t length = origin_length(url);
    uint32_t hash = hash_of(tls, url, length);
    struct origin *origin =
        state->bucket_count ? state->buckets[hash & (state->bucket_count - 1)] : NULL;

    while (origin && (origin->hash != hash || origin->tls != tls ||
                      strncmp(origin->text, url, length) != 0 || origin->text[length] != '\0'))
        origin = origin->next;
    return origin;
}

static void grow(struct http_nghttp2 *state)
{
    size_t count = state->bucket_count ? 2 * state->bucket_count : BUCKETS_FIRST;
    struct origin **buckets = xcalloc(count, sizeof(struct origin *));

    for (size_t i = 0; i < state->bucket_count; i++) {
        while (state->buckets[i]) {
            struct origin *origin = state->buckets[i];

            state->buckets[i] = origin->next;
            origin->next = buckets[origin->hash & (count - 1)];
            buckets[origin->hash & (count - 1)] = origin;
        }
    }
    free(state->buckets);
    state->buckets = buckets;
    state->bucket_count = count;
}

struct origin *origin_get(struct http_nghttp2 *state, const struct http_tls *tls, const char *url)
{
    struct origin *origin = origin_find(state, tls, url);
    size_t length = origin_length(url);

    if (!origin) {
        if (state->origin_count >= state->bucket_count)
            grow(state);
        origin = xcalloc(1, sizeof(*origin) + length + 1);
        origin->hash = hash_of(tls, url, length);
        origin->tls = tls;
        memcpy(origin->text, url, length);
        origin->next = state->buckets[origin->hash & (state->bucket_count - 1)];
        state->buckets[origin->hash & (state->bucket_count - 1)] = origin;
        state->origin_count++;
    }
    origin->references++;
    return origin;
}

static void free_origin(struct origin *origin)
{
    SSL_SESSION_free(origin->session);
    free(origin);
}

/* It stays in the table without connections: for its session, and because it may not support
 * HTTP/2. */
void origin_put(struct origin *origin)
{
    if (--origin->references == 0 && origin->is_forgotten)
        free_origin(origin);
}

void origin_forget(struct http_nghttp2 *state, struct origin *origin)
{
    *place_of(state, origin) = origin->next;
    state->origin_count--;
    state->http1_count -= origin->is_http1;
    origin->is_forgotten = true;
    origin->connection = NULL;
    if (origin->references == 0)
        free_origin(origin);
}

void origins_free(struct http_nghttp2 *state)
{
    for (size_t i = 0; i < state->bucket_count; i++) {
        while (state->buckets[i])
            origin_forget(state, state->buckets[i]);
    }
    free(state->buckets);
}
