/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/apply/cluster_stream.h"
#include "common/base/memory.h"
#include "common/data/doc.h"

enum { SINGLE_NAMES_MAX = 4 };

static const char *const SKIPPED_MEMBERS[] = {"metadata.managedFields", NULL};

static struct kube_resource resource_of(const struct cluster_stream *stream)
{
    return kube_watch_get_options(stream->watch)->resource;
}

/* ---- Reading for one interest ---- */

static void on_read(void *data, json_t *object, const struct error *err)
{
    struct cluster_interest *interest = data;
    struct cluster_stream *stream = interest->stream;
    cleanup_free char *key = cluster_stream_key(stream->namespace_name, interest->name);

    cluster_stream_enter(stream);
    if (err->kind == ERROR_NONE)
        (void)cluster_stream_take(stream, object, false);
    else if (err->kind == ERROR_NOT_FOUND)
        cluster_stream_take_absence(stream, key);
    else
        cluster_stream_notify(interest, NULL, err);
    if (!interest->is_dead)
        cluster_stream_end_reading(interest);
    cluster_stream_leave(stream);
}

static void on_read_item(void *data, const json_t *object, const struct error *err)
{
    struct cluster_interest *interest = data;
    struct cluster_stream *stream = interest->stream;

    (void)err;
    cluster_stream_enter(stream);
    if (object && cluster_stream_take(stream, object, false) == TAKEN_SAME)
        cluster_stream_notify(interest, object, NULL);
    cluster_stream_leave(stream);
}

static void on_read_all(void *data, const char *resource_version, const struct error *err)
{
    struct cluster_interest *interest = data;
    struct cluster_stream *stream = interest->stream;

    (void)resource_version;
    cluster_stream_enter(stream);
    interest->is_informed = err->kind == ERROR_NONE;
    cluster_stream_end_reading(interest);
    cluster_stream_notify(interest, NULL, interest->is_informed ? NULL : err);
    cluster_stream_leave(stream);
}

static void on_read_timer(void *data);

static void start_timer(struct cluster_stream *stream, uint64_t delay_ms)
{
    if (!stream->read_timer) {
        stream->read_timer = xcalloc(1, sizeof(*stream->read_timer));
        loop_timer_init(stream->read_timer, stream->cluster->pool->loop, on_read_timer, stream);
    }
    loop_timer_start(stream->read_timer, delay_ms);
}

/* Cannot fail: cluster_watch() has checked the names. */
static void read_for(struct cluster_interest *interest)
{
    struct cluster_stream *stream = interest->stream;
    struct kube *kube = cluster_kube(stream->cluster);
    struct error ignored = {0};
    int result = 0;

    if (interest->name) {
        const struct kube_request request = {
            .verb = KUBE_GET,
            .resource = resource_of(stream),
            .namespace_name = stream->namespace_name,
            .name = interest->name,
            .skipped_members = SKIPPED_MEMBERS,
            .is_reducible = true,
            .on_done = on_read,
            .data = interest,
        };

        result = kube_start(kube, &request, &interest->call, &ignored);
    } else {
        const struct kube_list_options options = {
            .resource = resource_of(stream),
            .namespace_name = stream->namespace_name,
            .label_selector = kube_watch_get_options(stream->watch)->label_selector,
            .skipped_members = SKIPPED_MEMBERS,
            .on_item = on_read_item,
            .on_done = on_read_all,
            .data = interest,
        };

        result = kube_list_start(kube, &options, &interest->list, &ignored);
    }
    stream->reader_count += result == 0;
    start_timer(stream, CLUSTER_POLL_MS);
}

/* Reads for those who joined late and whose read failed and, if the watch is not permitted, for
 * everyone. */
static void on_read_timer(void *data)
{
    struct cluster_stream *stream = data;

    foreach_interest(stream, interest)
    {
        bool is_late = interest->is_late && !interest->is_informed;

        if (is_late || (stream->is_denied && interest->name))
            start_timer(stream, CLUSTER_POLL_MS);
        else
            continue;
        if (!interest->is_dead && !interest->call && !interest->list)
            read_for(interest);
    }
    if (!loop_timer_is_running(stream->read_timer))
        cluster_stream_stop_timer(stream);
}

/* ---- Events of the watch ---- */

static void begin_list(struct cluster_stream *stream)
{
    stream->has_begun = stream->is_listing = true;
    cluster_stream_clear_listed(stream);
    stream->listed = xcalloc(1, sizeof(*stream->listed));
    text_map_init(stream->listed, stream->versions.pool);
    /* The list is for them as well. */
    foreach_interest(stream, interest)
    {
        if (interest->is_late && !stream->is_denied)
            cluster_stream_stop_reading(interest);
        interest->is_late = false;
    }
}

static void end_list(struct cluster_stream *stream)
{
    const struct text_map *versions = &stream->versions;

    stream->is_listing = stream->is_denied = false;
    for (size_t i = 0; i < versions->count;) {
        const struct text_map_entry *known = &versions->entries[i];

        if (known->number >= 0 && !text_map_find(stream->listed, known->name))
            cluster_stream_take_absence(stream, known->name); /* removes it */
        else
            i++;
    }
    foreach_interest(stream, interest)
    {
        cleanup_free char *own = NULL;

        if (interest->is_late)
            continue;
        if (!interest->name) {
            interest->is_informed = true;
            cluster_stream_notify(interest, NULL, NULL);
            continue;
        }
        own = cluster_stream_key(stream->namespace_name, interest->name);
        if (!text_map_find(stream->listed, own))
            cluster_stream_take_absence(stream, own);
    }
    cluster_stream_clear_listed(stream);
}

/* Versions will be used again, so that they cannot be compared any more. */
static void forget_versions(struct cluster_stream *stream)
{
    for (size_t i = 0; i < stream->versions.count; i++)
        stream->versions.entries[i].number = 0;
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    struct cluster_stream *stream = data;

    cluster_stream_enter(stream);
    switch (event) {
    case KUBE_EVENT_LISTING:
        begin_list(stream);
        break;
    case KUBE_EVENT_LISTED:
    case KUBE_EVENT_ADDED:
    case KUBE_EVENT_MODIFIED:
        (void)cluster_stream_take(stream, object, false);
        break;
    case KUBE_EVENT_DELETED:
        (void)cluster_stream_take(stream, object, true);
        break;
    case KUBE_EVENT_SYNCED:
        end_list(stream);
        break;
    case KUBE_EVENT_BROKEN:
        if (err->http_status == 403 && !stream->is_denied) {
            stream->is_denied = true;
            start_timer(stream, 0);
        }
        cluster_stream_notify_error(stream, err);
        break;
    case KUBE_EVENT_REWOUND:
        forget_versions(stream);
        break;
    }
    cluster_stream_leave(stream);
}

/* Nothing shows whether the other streams stall as well. */
static void on_stalled(void *data)
{
    struct cluster_stream *stalled = data;

    if (stalled != stalled->cluster->bookmarked)
        return;
    for (struct cluster_stream *stream = stalled->cluster->streams; stream; stream = stream->next) {
        if (stream != stalled)
            kube_watch_renew(stream->watch);
    }
}

/* ---- Which stream ---- */

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_of(const struct cluster_stream *stream, struct kube_resource resource,
                  const char *namespace_name, const char *label_selector)
{
    const struct kube_watch_options *options = kube_watch_get_options(stream->watch);

    return strcmp(options->resource.group, resource.group) == 0 &&
           strcmp(options->resource.version, resource.version) == 0 &&
           strcmp(options->resource.plural, resource.plural) == 0 &&
           is_same(options->namespace_name, namespace_name) &&
           is_same(options->label_selector, label_selector);
}

static int stream_new(struct cluster *cluster, const struct kind *kind, const char *namespace_name,
                      const char *name, const char *label_selector, int64_t from,
                      struct cluster_stream **ret_stream, struct error *err)
{
    struct cluster_stream *stream = xcalloc(1, sizeof(*stream));
    struct text_pool *texts = &cluster->pool->texts;
    cleanup_free char *field_selector = name ? xasprintf("metadata.name=%s", name) : NULL;
    cleanup_free char *version = from ? xasprintf("%lld", (long long)from) : NULL;
    const struct kube_watch_options options = {
        .resource = kind_resource(kind),
        .namespace_name = namespace_name,
        .label_selector = label_selector,
        .field_selector = field_selector,
        .skipped_members = SKIPPED_MEMBERS,
        .start_version = version,
        .stream_s = cluster->pool->stream_s,
        .is_without_bookmarks = cluster->pool->has_few_bookmarks && cluster->bookmarked,
        .pool = &cluster->pool->watches,
        .on_stalled = on_stalled,
        .on_event = on_event,
        .data = stream,
    };

    stream->cluster = cluster;
    stream->has_begun = from != 0;
    stream->name = text_pool_take(texts, name);
    text_map_init(&stream->versions, texts);
    if (cluster_connection_for_watch(cluster, &stream->connection, err) < 0 ||
        kube_watch_start(stream->connection->kube, &options, &stream->watch, err) < 0) {
        cluster_stream_free(stream);
        return -1;
    }
    stream->namespace_name = kube_watch_get_options(stream->watch)->namespace_name;
    stream->connection->watch_count++;
    if (cluster->pool->has_few_bookmarks && !cluster->bookmarked)
        cluster->bookmarked = stream;
    stream->next = cluster->streams;
    cluster->streams = stream;
    *ret_stream = stream;
    return 0;
}

/* Moves the interests of streams of single names that have not begun. */
static void merge_singles(struct cluster_stream *wide)
{
    struct cluster_stream *next = NULL;

    for (struct cluster_stream *stream = wide->next; stream; stream = next) {
        next = stream->next;
        if (!stream->name || stream->has_begun || stream->depth ||
            !is_of(stream, resource_of(wide), wide->namespace_name, NULL))
            continue;
        cluster_stream_move(stream, wide);
        cluster_stream_close(stream);
    }
}

/* The stream that serves this already, or a new one. */
static int find_stream(struct cluster *cluster, const struct kind *kind, const char *namespace_name,
                       const char *name, const char *label_selector, int64_t from,
                       struct cluster_stream **ret_stream, struct error *err)
{
    /* Other characters would have to be escaped in a field selector. */
    bool is_wide = !name || strpbrk(name, ",=\\");
    size_t single_count = 0;

    for (struct cluster_stream *stream = cluster->streams; stream; stream = stream->next) {
        if (!is_of(stream, kind_resource(kind), namespace_name, label_selector))
            continue;
        if (!stream->name || (!is_wide && strcmp(stream->name, name) == 0)) {
            *ret_stream = stream;
            return 0;
        }
        single_count++;
    }
    is_wide = is_wide || single_count >= SINGLE_NAMES_MAX;
    /* Others may join a stream of all names, which know nothing. */
    if (stream_new(cluster, kind, namespace_name, is_wide ? NULL : name, label_selector,
                   is_wide && !label_selector ? 0 : from, ret_stream, err) < 0)
        return -1;
    if (is_wide && !label_selector)
        merge_singles(*ret_stream);
    return 0;
}

int cluster_watch_known(struct cluster *cluster, const struct kind *kind,
                        const char *namespace_name, const char *name, const char *label_selector,
                        const json_t *known, cluster_object_fn *on_object, void *data,
                        int64_t *ret_from, struct cluster_interest **ret_interest,
                        struct error *err)
{
    int64_t from = cluster_oldest_version(known);
    struct cluster_stream *stream = NULL;
    struct cluster_interest *interest = NULL;
    bool is_first = false;

    if (name && (!name[0] || strpbrk(name, "/%") || name[strspn(name, ".")] == '\0'))
        return error_set(err, ERROR_INVALID, "invalid name \"%s\" of an object", name);
    if (find_stream(cluster, kind, namespace_name, name, name ? NULL : label_selector, from,
                    &stream, err) < 0)
        return -1;
    is_first = !stream->interests && stream->has_begun;
    interest = xcalloc(1, sizeof(*interest));
    interest->name = text_pool_take(&cluster->pool->texts, name);
    interest->on_object = on_object;
    interest->data = data;
    interest->is_late = stream->has_begun && !is_first;
    interest->is_informed = is_first;
    cluster_stream_add(stream, interest);
    if (is_first)
        cluster_stream_know(stream, known);
    if (interest->is_late)
        read_for(interest);
    *ret_interest = interest;
    *ret_from = is_first ? from : 0;
    return 0;
}

int cluster_watch(struct cluster *cluster, const struct kind *kind, const char *namespace_name,
                  const char *name, const char *label_selector, cluster_object_fn *on_object,
                  void *data, struct cluster_interest **ret_interest, struct error *err)
{
    int64_t ignored = 0;

    return cluster_watch_known(cluster, kind, namespace_name, name, label_selector, NULL, on_object,
                               data, &ignored, ret_interest, err);
}

void cluster_unwatch(struct cluster_interest *interest)
{
    if (!interest || interest->is_dead)
        return;
    cluster_stream_enter(interest->stream);
    cluster_stream_stop_reading(interest);
    cluster_stream_end(interest);
    cluster_stream_leave(interest->stream);
}
