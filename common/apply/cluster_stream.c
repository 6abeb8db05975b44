/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/cluster_stream.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"
#include "common/data/doc.h"

/* ---- Life ---- */

static bool is_about(const struct cluster_interest *interest, const char *name)
{
    return !interest->is_dead && (!interest->name || strcmp(interest->name, name) == 0);
}

static bool has_interest(const struct cluster_stream *stream, const char *name)
{
    const struct cluster_interest *interest = stream->interests;

    while (interest && !is_about(interest, name))
        interest = interest->next;
    return interest != NULL;
}

char *cluster_stream_key(const char *namespace_name, const char *name)
{
    return xasprintf("%s/%s", namespace_name ? namespace_name : "", name);
}

/* Only an older state that is being read makes it necessary to know what is gone. */
void cluster_stream_end_reading(struct cluster_interest *interest)
{
    struct cluster_stream *stream = interest->stream;
    const char *key = NULL;
    json_t *version = NULL;
    void *next = NULL;

    interest->call = NULL;
    interest->list = NULL;
    if (--stream->reader_count)
        return;
    json_object_foreach_safe(stream->versions, next, key, version)
    {
        if (json_integer_value(version) < 0)
            (void)json_object_del(stream->versions, key);
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

void cluster_stream_free(struct cluster_stream *stream)
{
    kube_watch_stop(stream->watch);
    loop_timer_stop(&stream->read_timer);
    json_decref(stream->listed);
    json_decref(stream->versions);
    free(stream->group);
    free(stream->version);
    free(stream->plural);
    free(stream->namespace_name);
    free(stream->name);
    free(stream->label_selector);
    free(stream);
}

void cluster_stream_close(struct cluster_stream *stream)
{
    struct cluster_stream **link = &stream->cluster->streams;

    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream->connection->watch_count--;
    cluster_stream_free(stream);
}

static void interest_free(struct cluster_interest *interest)
{
    struct cluster_stream *stream = interest->stream;

    if (interest->name && !has_interest(stream, interest->name)) {
        cleanup_free char *key = cluster_stream_key(stream->namespace_name, interest->name);

        (void)json_object_del(stream->versions, key);
    }
    free(interest->name);
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
    for (struct cluster_interest **link = &stream->interests; *link;) {
        struct cluster_interest *interest = *link;

        if (!interest->is_dead) {
            link = &interest->next;
            continue;
        }
        *link = interest->next;
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

static void notify_state(struct cluster_stream *stream, const json_t *object, bool is_gone,
                         bool is_changed)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    struct error gone = {0};

    if (is_gone)
        (void)error_set(&gone, ERROR_NOT_FOUND, "'%s' was deleted", name);
    foreach_interest(stream, interest)
    {
        if (!is_about(interest, name) ||
            (!is_changed && (interest->is_informed || !interest->name)))
            continue;
        interest->is_informed = interest->is_informed || interest->name != NULL;
        cluster_stream_notify(interest, is_gone && interest->name ? NULL : object,
                              is_gone && !interest->name ? &gone : NULL);
    }
}

/* 0 if it is not a number: then it cannot be compared. */
static json_int_t version_of(const json_t *object)
{
    uint64_t version = 0;

    (void)number_parse(doc_text_or(object, "metadata.resourceVersion", ""), INT64_MAX, &version);
    return (json_int_t)version;
}

enum taken cluster_stream_take(struct cluster_stream *stream, const json_t *object, bool is_gone)
{
    const char *name = doc_text_or(object, "metadata.name", "");
    cleanup_free char *key = cluster_stream_key(doc_text(object, "metadata.namespace"), name);
    const json_t *known = json_object_get(stream->versions, key);
    json_int_t last = json_integer_value(known);
    json_int_t version = version_of(object);
    bool is_changed = !known || !version || version != llabs(last) || is_gone != (last < 0);

    if (!has_interest(stream, name) || (version && version < llabs(last)))
        return TAKEN_OUTDATED;
    if (stream->is_listing)
        (void)json_object_set_new(stream->listed, key, json_true());
    if (is_gone && !(version && stream->reader_count))
        (void)json_object_del(stream->versions, key);
    else
        (void)json_object_set_new(stream->versions, key,
                                  json_integer(is_gone ? -version : version));
    notify_state(stream, object, is_gone, is_changed);
    return is_changed ? TAKEN_CHANGED : TAKEN_SAME;
}

void cluster_stream_take_absence(struct cluster_stream *stream, const char *key)
{
    const char *slash = strchr(key, '/');
    cleanup_free char *namespace_name = xstrndup(key, (size_t)(slash - key));
    cleanup_json json_t *object = json_object();
    bool is_changed = json_object_get(stream->versions, key) != NULL;

    doc_set_text(object, "metadata.name", slash + 1);
    if (namespace_name[0])
        doc_set_text(object, "metadata.namespace", namespace_name);
    (void)json_object_del(stream->versions, key);
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
