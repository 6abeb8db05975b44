/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/net/http_nghttp2.h"

size_t origin_length(const char *url)
{
    return strlen("https://") + strcspn(url + strlen("https://"), "/?#");
}

static uint32_t hash_of(const struct http_tls *tls, const char *url, size_t length)
{
    return hash_bytes(hash_bytes(HASH_FIRST, (const char *)&tls, sizeof(const void *)), url,
                      length);
}

struct origin *origin_find(const struct http_nghttp2 *state, const struct http_tls *tls,
                           const char *url)
{
    size_t length = origin_length(url);

    for (struct hash_entry *entry = hash_table_find(&state->origins, hash_of(tls, url, length));
         entry; entry = hash_entry_next(entry)) {
        struct origin *origin = (struct origin *)entry;

        if (origin->tls == tls && strncmp(origin->text, url, length) == 0 &&
            origin->text[length] == '\0')
            return origin;
    }
    return NULL;
}

struct origin *origin_get(struct http_nghttp2 *state, const struct http_tls *tls, const char *url)
{
    struct origin *origin = origin_find(state, tls, url);
    size_t length = origin_length(url);

    if (!origin) {
        origin = xcalloc(1, sizeof(*origin) + length + 1);
        origin->tls = tls;
        memcpy(origin->text, url, length);
        hash_table_add(&state->origins, &origin->entry, hash_of(tls, url, length));
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
    hash_table_remove(&state->origins, &origin->entry);
    state->http1_count -= origin->is_http1;
    origin->is_forgotten = true;
    origin->connection = NULL;
    if (origin->references == 0)
        free_origin(origin);
}

void origins_free(struct http_nghttp2 *state)
{
    struct hash_entry *entry = NULL;

    while ((entry = hash_table_any(&state->origins)))
        origin_forget(state, (struct origin *)entry);
    hash_table_done(&state->origins);
}
