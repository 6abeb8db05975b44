/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/watch_target.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/kube/request.h"

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_equal(const struct kube_watch_options *a, const struct kube_watch_options *b)
{
    return is_same(a->resource.group, b->resource.group) &&
           is_same(a->resource.version, b->resource.version) &&
           is_same(a->resource.plural, b->resource.plural) &&
           is_same(a->namespace_name, b->namespace_name) &&
           is_same(a->label_selector, b->label_selector) &&
           is_same(a->field_selector, b->field_selector) && a->is_watch_only == b->is_watch_only &&
           a->is_metadata_only == b->is_metadata_only && a->skipped_members == b->skipped_members &&
           a->is_known == b->is_known && a->page_size == b->page_size &&
           a->retry_first_ms == b->retry_first_ms && a->retry_max_ms == b->retry_max_ms &&
           a->stream_s == b->stream_s && a->on_stalled == b->on_stalled &&
           a->on_event == b->on_event;
}

static uint32_t add_hash(uint32_t hash, const char *text)
{
    return text ? hash_bytes(hash, text, strlen(text)) : hash;
}

static uint32_t hash_of(const struct kube_watch_options *options)
{
    uint32_t hash = add_hash(HASH_FIRST, options->resource.group);

    hash = add_hash(hash, options->resource.plural);
    hash = add_hash(hash, options->namespace_name);
    hash = add_hash(hash, options->label_selector);
    return add_hash(hash, options->field_selector);
}

static struct watch_target *find(const struct kube_watch_pool *pool,
                                 const struct kube_watch_options *options)
{
    struct hash_entry *entry = hash_table_find(&pool->targets, hash_of(options));

    while (entry && !are_equal(&((struct watch_target *)entry)->options, options))
        entry = hash_entry_next(entry);
    return (struct watch_target *)entry;
}

/* Copies the text to *end, after the others. */
static const char *keep(char **end, const char *text)
{
    const char *kept = text ? *end : NULL;

    if (text)
        memcpy(*end, text, size_of(text));
    *end += size_of(text);
    return kept;
}

static struct watch_target *target_new(const struct kube_watch_options *options)
{
    const struct kube_resource *resource = &options->resource;
    size_t size = size_of(resource->group) + size_of(resource->version) +
                  size_of(resource->plural) + size_of(options->namespace_name) +
                  size_of(options->label_selector) + size_of(options->field_selector);
    struct watch_target *target = xcalloc(1, sizeof(*target) + size);
    char *end = target->texts;

    target->pool = options->pool;
    target->options = *options;
    target->options.resource = (struct kube_resource){
        keep(&end, resource->group), keep(&end, resource->version), keep(&end, resource->plural)};
    target->options.namespace_name = keep(&end, options->namespace_name);
    target->options.label_selector = keep(&end, options->label_selector);
    target->options.field_selector = keep(&end, options->field_selector);
    target->options.is_without_bookmarks = false;
    target->options.start_version = NULL;
    target->options.pool = NULL;
    target->options.data = NULL;
    if (target->pool)
        hash_table_add(&target->pool->targets, &target->entry, hash_of(options));
    return target;
}

int watch_target_get(const struct kube_watch_options *options, const char *server,
                     struct watch_target **ret_target, struct error *err)
{
    struct watch_target *target = NULL;
    cleanup_free char *path = NULL;

    if (kube_path_make(server, &options->resource, options->namespace_name, NULL, NULL, &path,
                       err) < 0)
        return -1;
    target = options->pool ? find(options->pool, options) : NULL;
    if (!target)
        target = target_new(options);
    target->references++;
    *ret_target = target;
    return 0;
}

void watch_target_put(struct watch_target *target)
{
    if (--target->references)
        return;
    if (target->pool)
        hash_table_remove(&target->pool->targets, &target->entry);
    free(target);
}

void kube_watch_pool_done(struct kube_watch_pool *pool)
{
    hash_table_done(&pool->targets);
}

char *watch_target_url(const struct watch_target *target, const char *server, const char *version,
                       bool has_bookmarks, uint32_t seconds)
{
    const struct kube_watch_options *options = &target->options;
    cleanup_free char *path = NULL;
    struct error ignored = {0};

    /* Cannot fail: watch_target_get() has made the same path. */
    (void)!kube_path_make(server, &options->resource, options->namespace_name, NULL, NULL, &path,
                          &ignored);
    return kube_watch_url(path, version, has_bookmarks, options->label_selector,
                          options->field_selector, seconds);
}
