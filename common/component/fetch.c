/* SPDX-License-Identifier: Apache-2.0 */
#include "common/component/fetch.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/component/component_artifact.h"
#include "common/component/component_name.h"
#include "common/component/file_repository.h"

enum { ASKED_MAX_BYTES = 600 };

struct fetch {
    const struct lookup *lookup;
    char *name, *version, *tag;
    fetch_fn *on_done;
    void *data;

    size_t place;
    const struct repository *repository;
    struct buffer asked; /* names of the repositories, for the error message */
    struct loop_timer timer;

    char *path; /* of the component in the registry */
    struct registry_call *call;
    bool is_from_index;
    struct manifest manifest;
    struct component_artifact_layer layer;
    struct buffer bytes;
    uint64_t total_bytes;
};

const struct repository *lookup_next(const struct lookup *lookup, const char *component_name,
                                     size_t *place)
{
    size_t count = lookup->config ? lookup->config->resolver_count : 0;

    if (*place == 0) {
        *place = 1;
        if (lookup->inline_descriptors)
            return lookup->inline_descriptors;
    }
    if (*place == 1) {
        *place = 2;
        if (lookup->context)
            return lookup->context;
    }
    while (*place - 2 < count) {
        size_t i = (*place)++ - 2;

        if (ocm_resolver_matches(&lookup->config->resolvers[i], component_name))
            return lookup->resolvers[i];
    }
    return NULL;
}

void found_done(struct found *found)
{
    descriptor_free(found->descriptor);
    manifest_done(&found->manifest);
    *found = (struct found){0};
}

void fetch_cancel(struct fetch *fetch)
{
    if (!fetch)
        return;
    registry_cancel(fetch->call);
    loop_timer_stop(&fetch->timer);
    manifest_done(&fetch->manifest);
    component_artifact_layer_done(&fetch->layer);
    buffer_done(&fetch->bytes);
    buffer_done(&fetch->asked);
    free(fetch->path);
    free(fetch->name);
    free(fetch->version);
    free(fetch->tag);
    free(fetch);
}

static void finish(struct fetch *fetch, struct found *found, const struct error *err)
{
    fetch_fn *on_done = fetch->on_done;
    void *data = fetch->data;
    struct error result = *err;

    if (result.kind != ERROR_NONE)
        (void)error_wrap(&result, "component \"%s:%s\"", fetch->name, fetch->version);
    fetch_cancel(fetch);
    on_done(data, found, &result);
}

static void fail(struct fetch *fetch, const struct error *err)
{
    finish(fetch, &(struct found){0}, err);
}

/* For failures after the manifest was found. If the registry lacks what the manifest refers to, the
 * component is damaged, and other repositories must not be asked instead. */
static void fail_damaged(struct fetch *fetch, const struct error *err)
{
    struct error result = *err;

    if (result.kind == ERROR_NOT_FOUND)
        result.kind = ERROR_INVALID;
    fail(fetch, &result);
}

static void succeed(struct fetch *fetch, struct descriptor *descriptor)
{
    struct found found = {.descriptor = descriptor,
                          .repository = fetch->repository,
                          .manifest = fetch->manifest,
                          .bytes = fetch->total_bytes};
    struct error err = {0};

    fetch->manifest = (struct manifest){0};
    if (descriptor_check_identity(descriptor, fetch->name, fetch->version, &err) < 0) {
        found_done(&found);
        fail(fetch, &err);
        return;
    }
    finish(fetch, &found, &err);
}

/* ---- from a registry ---- */

static struct registry_place registry_place(const struct fetch *fetch)
{
    return (struct registry_place){.host = fetch->repository->host,
                                   .repository = fetch->path,
                                   .is_plain_http = fetch->repository->is_plain_http};
}

static int collect(void *data, const char *bytes, size_t size, struct error *err)
{
    struct fetch *fetch = data;

    return buffer_append(&fetch->bytes, bytes, size, err);
}

static void start_over(void *data)
{
    struct fetch *fetch = data;

    buffer_clear(&fetch->bytes);
}

static void get_blob(struct fetch *fetch, const char *digest, int64_t size, size_t max,
                     registry_blob_fn *on_done)
{
    const struct registry_place place = registry_place(fetch);
    const struct registry_blob blob = {.digest = digest,
                                       .size = size,
                                       .max_bytes = max,
                                       .on_bytes = collect,
                                       .on_restart = start_over,
                                       .on_done = on_done,
                                       .data = fetch};
    struct error err = {0};

    buffer_done(&fetch->bytes);
    buffer_init(&fetch->bytes, max);
    if (registry_get_blob(fetch->lookup->registry, &place, &blob, &fetch->call, &err) < 0)
        fail_damaged(fetch, &err);
}

static void on_layer(void *data, const struct error *err)
{
    struct fetch *fetch = data;
    struct descriptor *descriptor = NULL;
    struct error failure = {0};

    fetch->call = NULL;
    if (err->kind != ERROR_NONE) {
        fail_damaged(fetch, err);
        return;
    }
    fetch->total_bytes += fetch->bytes.size;
    if (component_artifact_take_layer(&fetch->bytes, fetch->layer.media_type, &descriptor,
                                      &failure) < 0) {
        fail_damaged(fetch, &failure);
        return;
    }
    succeed(fetch, descriptor);
}

static void on_config(void *data, const struct error *err)
{
    struct fetch *fetch = data;
    struct error failure = {0};

    fetch->call = NULL;
    if (err->kind != ERROR_NONE) {
        fail_damaged(fetch, err);
        return;
    }
    fetch->total_bytes += fetch->bytes.size;
    if (component_artifact_read_config(fetch->bytes.data ? fetch->bytes.data : "",
                                       fetch->bytes.size, &fetch->layer, &failure) < 0) {
        fail_damaged(fetch, &failure);
        return;
    }
    get_blob(fetch, fetch->layer.digest, fetch->layer.size, DESCRIPTOR_MAX_BYTES, on_layer);
}

static void get_manifest(struct fetch *fetch, const char *object);
static void ask_next(void *data);

static void on_manifest(void *data, const struct buffer *bytes, const char *media_type,
                        const char *digest, const struct error *err)
{
    struct fetch *fetch = data;
    const struct content *entry = NULL;
    struct error failure = {0};

    (void)digest;
    fetch->call = NULL;
    if (err->kind == ERROR_NOT_FOUND && !fetch->is_from_index) {
        ask_next(fetch);
        return;
    }
    if (err->kind != ERROR_NONE) {
        fail_damaged(fetch, err);
        return;
    }
    fetch->total_bytes += bytes->size;
    if (manifest_parse(bytes->data ? bytes->data : "", bytes->size, media_type, &fetch->manifest,
                       &failure) < 0) {
        (void)error_wrap(&failure, "manifest in \"%s\"", fetch->repository->text);
        fail_damaged(fetch, &failure);
        return;
    }
    /* Newer versions of OCM store a component version as an index. */
    if (fetch->manifest.is_index && !fetch->is_from_index) {
        cleanup_manifest struct manifest index = fetch->manifest;

        fetch->manifest = (struct manifest){0};
        fetch->is_from_index = true;
        if (component_artifact_pick_manifest(&index, &entry, &failure) < 0)
            fail_damaged(fetch, &failure);
        else
            get_manifest(fetch, entry->digest);
        return;
    }
    if (component_artifact_check_manifest(&fetch->manifest, &failure) < 0) {
        fail_damaged(fetch, &failure);
        return;
    }
    get_blob(fetch, fetch->manifest.config.digest, fetch->manifest.config.size,
             COMPONENT_CONFIG_MAX_BYTES, on_config);
}

static void get_manifest(struct fetch *fetch, const char *object)
{
    const struct registry_place place = registry_place(fetch);
    struct error err = {0};

    if (registry_get_manifest(fetch->lookup->registry, &place, object, on_manifest, fetch,
                              &fetch->call, &err) < 0)
        fail_damaged(fetch, &err);
}

/* ---- from files and inline descriptors ---- */

static void ask_descriptors(struct fetch *fetch)
{
    const struct repository *repository = fetch->repository;

    for (size_t i = 0; i < repository->descriptor_count; i++) {
        struct error err = {0};

        if (descriptor_check_identity(repository->descriptors[i], fetch->name, fetch->version,
                                      &err) < 0)
            continue;
        succeed(fetch, descriptor_ref(repository->descriptors[i]));
        return;
    }
    ask_next(fetch);
}

static void ask_files(struct fetch *fetch)
{
    struct descriptor *descriptor = NULL;
    struct error err = {0};

    if (file_repository_find_descriptor(fetch->repository, fetch->name, fetch->version, &descriptor,
                                        &fetch->manifest, &err) == 0)
        succeed(fetch, descriptor);
    else if (err.kind == ERROR_NOT_FOUND)
        ask_next(fetch);
    else
        fail(fetch, &err);
}

/* ---- the repositories in their order ---- */

static void fail_not_found(struct fetch *fetch)
{
    struct error err = {0};

    if (fetch->asked.size == 0)
        (void)error_set(
            &err, ERROR_NOT_FOUND,
            "there is neither a repository context nor an OCM resolver for this component");
    else
        (void)error_set(&err, ERROR_NOT_FOUND, "not found in %s", fetch->asked.data);
    fail(fetch, &err);
}

static void ask_next(void *data)
{
    struct fetch *fetch = data;
    struct error err = {0};

    fetch->repository = lookup_next(fetch->lookup, fetch->name, &fetch->place);
    if (!fetch->repository) {
        fail_not_found(fetch);
        return;
    }
    if (fetch->repository->kind != REPOSITORY_DESCRIPTORS) {
        /* A list that is too long for the message is cut off. */
        struct error ignored = {0};

        (void)!buffer_append_text(&fetch->asked, &ignored, "%s\"%s\"",
                                  fetch->asked.size > 0 ? ", " : "", fetch->repository->text);
    }
    switch (fetch->repository->kind) {
    case REPOSITORY_REGISTRY:
        free(fetch->path);
        fetch->path = repository_component_path(fetch->repository, fetch->name);
        fetch->is_from_index = false;
        get_manifest(fetch, fetch->tag);
        return;
    case REPOSITORY_DESCRIPTORS:
        ask_descriptors(fetch);
        return;
    case REPOSITORY_TRANSPORT:
    case REPOSITORY_ARCHIVE:
    case REPOSITORY_DIRECTORY:
    case REPOSITORY_INLINE:
        ask_files(fetch);
        return;
    case REPOSITORY_UNSUPPORTED:
        (void)error_set(&err, ERROR_INVALID, "%s is not supported", fetch->repository->text);
        fail(fetch, &err);
        return;
    }
}

static void begin(void *data)
{
    struct fetch *fetch = data;
    struct error err = {0};

    if (component_name_is_valid(fetch->name) && version_is_valid(fetch->version)) {
        ask_next(fetch);
        return;
    }
    (void)error_set(&err, ERROR_INVALID, "invalid component name or version");
    fail(fetch, &err);
}

struct fetch *fetch_start(const struct lookup *lookup, const char *component_name,
                          const char *version, fetch_fn *on_done, void *data)
{
    struct fetch *fetch = xcalloc(1, sizeof(*fetch));

    fetch->lookup = lookup;
    fetch->name = xstrdup(component_name);
    fetch->version = xstrdup(version);
    fetch->tag = version_tag(version);
    fetch->on_done = on_done;
    fetch->data = data;
    buffer_init(&fetch->asked, ASKED_MAX_BYTES);
    loop_timer_init(&fetch->timer, lookup->loop, begin, fetch);
    loop_timer_start(&fetch->timer, 0);
    return fetch;
}
