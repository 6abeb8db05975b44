/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/cluster_stream.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

/* Most streams have few interests, which need no table. */
enum { CHAINS_FIRST = 1 + 4 };

/* ---- Interests ---- */

static struct cluster_interest **chain_of(const struct cluster_stream *stream, const char *name)
{
    return name && stream->chain_count > 1
               ? &stream->chains[1 + (hash_bytes(HASH_FIRST, name, strlen(name)) &
                                      (stream->chain_count - 2))]
               : &stream->chains[0];
}

static void enter_chain(struct cluster_interest *interest)
{
    struct cluster_interest **chain = chain_of(interest->stream, interest->name);

    interest->chain_next = *chain;
    interest->chain_link = chain;
    if (*chain)
        (*chain)->chain_link = &interest->chain_next;
    *chain = interest;
}

static void leave_chain(struct cluster_interest *interest)
{
    *interest->chain_link = interest->chain_next;
    if (interest->chain_next)
        interest->chain_next->chain_link = interest->chain_link;
}

static void free_chains(struct cluster_stream *stream)
{
    if (stream->chains != &stream->only_chain)
        free((void *)stream->chains);
}

static void make_chains(struct cluster_stream *stream, uint32_t count)
{
    free_chains(stream);
    stream->chains = xcalloc(count, sizeof(struct cluster_interest *));
    stream->chain_count = count;
    foreach_interest(stream, interest) enter_chain(interest);
}

void cluster_stream_add(struct cluster_stream *stream, struct cluster_interest *interest)
{
    if (!stream->chains) {
        stream->chains = &stream->only_chain;
        stream->chain_count = 1;
    }
    /* A chain must not change while it is called. */
    if (stream->interest_count >= stream->chain_count &&
        stream->interest_count >= CHAINS_FIRST - 1 && stream->depth == 0)
        make_chains(stream, stream->chain_count > 1 ? stream->chain_count * 2 - 1 : CHAINS_FIRST);
    interest->stream = stream;
    interest->next = stream->interests;
    interest->link = &stream->interests;
    if (interest->next)
        interest->next->link = &interest->next;
    stream->interests = interest;
    stream->interest_count++;
    enter_chain(interest);
}

static void take_out(struct cluster_interest *interest)
{
    leave_chain(interest);
    *interest->link = interest->next;
    if (interest->next)
        interest->next->link = interest->link;
    interest->stream->interest_count--;
}

void cluster_stream_move(struct cluster_stream *from, struct cluster_stream *to)
{
    while (from->interests) {
        struct cluster_interest *interest = from->interests;

        take_out(interest);
        cluster_stream_add(to, interest);
    }
}

void cluster_stream_end(struct cluster_interest *interest)
{
    interest->is_dead = true;
    interest->dead_next = interest->stream->dead;
    interest->stream->dead = interest;
}

static bool is_about(const struct cluster_interest *interest, const char *name)
{
    return !interest->is_dead && (!interest->name || strcmp(interest->name, name) == 0);
}

static bool is_in_chain(const struct cluster_interest *chain, const char *name)
{
    while (chain && !is_about(chain, name))
        chain = chain->chain_next;
    return chain != NULL;
}

static bool has_interest(const struct cluster_stream *stream, const char *name)
{
    return is_in_chain(stream->chains[0], name) || is_in_chain(*chain_of(stream, name), name);
}

/* ---- Life ---- */

char *cluster_stream_key(const char *namespace_name, const char *name)
{
    return xasprintf("%s/%s", namespace_name ? namespace_name : "", name);
}

/* Only an older state that is being read makes it necessary to know what is gone. */
void cluster_stream_end_reading(struct cluster_interest *interest)
{
    struct cluster_stream *stream = interest->stream;
    struct text_map *versions = &stream->versions;

    interest->call = NULL;
    interest->list = NULL;
    if (--stream->reader_count || !stream->has_gone)
        return;
    stream->has_gone = false;
    for (size_t i = 0; i < versions->count;) {
        if (versions->entries[i].number < 0)
            text_map_remove(versions, versions->entries[i].name);
        else
            i++;
    }
}

void cluster_stream_stop_reading(struct cluster_interest *interest)
{
    if (!interest->call && !interest->list)
        return;
    kube_cancel(interest->call);
    kube_list_cancel(interest->list);
    cluster_stream_end_reading(interest);
}

void cluster_stream_stop_timer(struct cluster_stream *stream)
{
    if (stream->read_timer)
        loop_timer_stop(stream->read_timer);
    free(stream->read_timer);
    stream->read_timer = NULL;
}

void cluster_stream_clear_listed(struct cluster_stream *stream)
{
    if (stream->listed)
        text_map_clear(stream->listed);
    free(stream->listed);
    stream->listed = NULL;
}

void cluster_stream_free(struct cluster_stream *stream)
{
    struct text_pool *texts = stream->versions.pool;

    kube_watch_stop(stream->watch);
    cluster_stream_stop_timer(stream);
    cluster_stream_clear_listed(stream);
    text_map_clear(&stream->versions);
    text_pool_give(texts, stream->name);
    free_chains(stream);
    free(stream);
}

void cluster_stream_close(struct cluster_stream *stream)
{
    struct cluster_stream **link = &stream->cluster->streams;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    if (stream->cluster->bookmarked == stream) {
        stream->cluster->bookmarked = stream->cluster->streams;
        if (stream->cluster->streams)
            kube_watch_want_bookmarks(stream->cluster->streams->watch);
    }
    stream->connection->watch_count--;
    cluster_stream_free(stream);
}

static void interest_free(struct cluster_interest *interest)
{
    struct cluster_stream *stream = interest->stream;

    take_out(interest);
    if (interest->name && !has_interest(stream, interest->name)) {
        cleanup_free char *key = cluster_stream_key(stream->namespace_name, interest->name);

        text_map_remove(&stream->versions, key);
    }
    text_pool_give(stream->versions.pool, interest->name);
    free(interest);
}

void cluster_stream_enter(struct cluster_stream *stream)
{
    stream->depth++;
}

/* Frees what ended while callbacks were running. */
void cluster_stream_leave(struct cluster_stream *stream)
{
    if (--stream->depth > 0)
        return;
    while (stream->dead) {
        struct cluster_interest *interest = stream->dead;

        stream->dead = interest->dead_next;
        interest_free(interest);
    }
    if (!stream->interests)
        cluster_stream_close(stream);
}

/* ---- What is passed on ---- */

void cluster_stream_notify(struct cluster_interest *interest, const json_t *object,
                           const struct error *err)
{
    if (!interest->is_dead)
        interest->on_object(interest->data, object, err);
}

static void notify_chain(struct cluster_interest *chain, const json_t *object, bool is_gone,
                         bool is_changed)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    struct error gone = {0};

    for (struct cluster_interest *interest = chain; interest; interest = interest->chain_next) {
        if (!is_about(interest, name) ||
            (!is_changed && (interest->is_informed || !interest->name)))
            continue;
        if (is_gone && !interest->name)
            (void)error_set(&gone, ERROR_NOT_FOUND, "\"%s\" was deleted", name);
        interest->is_informed = interest->is_informed || interest->name != NULL;
        cluster_stream_notify(interest, is_gone && interest->name ? NULL : object,
                              is_gone && !interest->name ? &gone : NULL);
    }
}

static void notify_state(struct cluster_stream *stream, const json_t *object, bool is_gone,
                         bool is_changed)
{
    const char *name = doc_text_or(object, "metadata.name", "");

    notify_chain(*chain_of(stream, name), object, is_gone, is_changed);
    if (stream->chain_count > 1)
        notify_chain(stream->chains[0], object, is_gone, is_changed);
}

/* 0 if it is not a number: then it cannot be compared. */
static int64_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), INT64_MAX, &version);
    return (int64_t)version;
}

enum taken cluster_stream_take(struct cluster_stream *stream, const json_t *object, bool is_gone)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    cleanup_free char *key = cluster_stream_key(doc_text(object, "metadata.namespace"), name);
    const struct text_map_entry *known = text_map_find(&stream->versions, key);
    int64_t last = known ? known->number : 0;
    int64_t version = version_of(object);
    bool is_changed = !known || !version || version != llabs(last) || is_gone != (last < 0);

    if (!has_interest(stream, name) || (version && version < llabs(last)))
        return TAKEN_OUTDATED;
    if (stream->is_listing)
        text_map_set(stream->listed, key, 1);
    if (is_gone && !(version && stream->reader_count))
        text_map_remove(&stream->versions, key);
    else
        text_map_set(&stream->versions, key, is_gone ? -version : version);
    stream->has_gone = stream->has_gone || is_gone;
    notify_state(stream, object, is_gone, is_changed);
    return is_changed ? TAKEN_CHANGED : TAKEN_SAME;
}

int64_t cluster_oldest_version(const json_t *objects)
{
    int64_t oldest = 0;

    for (size_t i = 0; i < json_array_size(objects); i++) {
        int64_t version = version_of(json_array_get(objects, i));

        if (!version)
            return 0;
        if (!oldest || version < oldest)
            oldest = version;
    }
    return oldest;
}

void cluster_stream_know(struct cluster_stream *stream, const json_t *objects)
{
    for (size_t i = 0; i < json_array_size(objects); i++) {
        const json_t *object = json_array_get(objects, i);
        cleanup_free char *key = cluster_stream_key(doc_text(object, "metadata.namespace"),
                                                    doc_text_or(object, "metadata.name", ""));
        const struct text_map_entry *known = text_map_find(&stream->versions, key);

        if (!known || llabs(known->number) < version_of(object))
            text_map_set(&stream->versions, key, version_of(object));
    }
}

void cluster_stream_take_absence(struct cluster_stream *stream, const char *key)
{
    const char *slash = strchr(key, '/');
    cleanup_free char *namespace_name = xstrndup(key, (size_t)(slash - key));
    cleanup_json json_t *object = json_object();
    bool is_changed = text_map_find(&stream->versions, key) != NULL;

    doc_set_text(object, "metadata.name", slash + 1);
    if (namespace_name[0])
        doc_set_text(object, "metadata.namespace", namespace_name);
    text_map_remove(&stream->versions, key);
    notify_state(stream, object, true, is_changed);
}

void cluster_stream_notify_error(struct cluster_stream *stream, const struct error *err)
{
    foreach_interest(stream, interest)
    {
        /* Interests in single names can be read one by one. */
        if (!stream->is_denied || !interest->name)
            cluster_stream_notify(interest, NULL, err);
    }
}
