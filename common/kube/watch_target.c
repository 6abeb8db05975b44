/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/watch_target.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/kube/request.h"

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
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

int watch_target_new(const struct kube_watch_options *options, const char *server,
                     struct watch_target **ret_target, struct error *err)
{
    const struct kube_resource *resource = &options->resource;
    size_t size = size_of(resource->group) + size_of(resource->version) +
                  size_of(resource->plural) + size_of(options->namespace_name) +
                  size_of(options->label_selector) + size_of(options->field_selector);
    struct watch_target *target = NULL;
    cleanup_free char *path = NULL;
    char *end = NULL;

    if (kube_path_make(server, resource, options->namespace_name, NULL, NULL, &path, err) < 0)
        return -1;
    target = xcalloc(1, sizeof(*target) + size);
    end = target->texts;
    target->group = keep(&end, resource->group);
    target->version = keep(&end, resource->version);
    target->plural = keep(&end, resource->plural);
    target->namespace_name = keep(&end, options->namespace_name);
    target->label_selector = keep(&end, options->label_selector);
    target->field_selector = keep(&end, options->field_selector);
    *ret_target = target;
    return 0;
}

struct kube_resource watch_target_resource(const struct watch_target *target)
{
    return (struct kube_resource){target->group, target->version, target->plural};
}

char *watch_target_url(const struct watch_target *target, const char *server, const char *version,
                       bool has_bookmarks, uint32_t seconds)
{
    const struct kube_resource resource = watch_target_resource(target);
    cleanup_free char *path = NULL;
    struct error ignored = {0};

    /* Cannot fail: watch_target_new() has made the same path. */
    (void)!kube_path_make(server, &resource, target->namespace_name, NULL, NULL, &path, &ignored);
    return kube_watch_url(path, version, has_bookmarks, target->label_selector,
                          target->field_selector, seconds);
}
