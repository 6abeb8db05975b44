/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/lifecycle/module_store.h"

#include <string.h>

#include "common/archive/unpack.h"
#include "common/base/memory.h"
#include "common/component/fetch.h"
#include "common/net/retry.h"
#include "deployer/lifecycle/module_objects.h"

enum {
    RETRY_FIRST_MS = 30 * 1000,
    RETRY_MAX_MS = 10 * 60 * 1000,
};

/* One descriptor or one layer. Entries are never removed: there are as many as versions of modules
 * were used since the start. */
struct entry {
    struct module_store *store;
    char *component;
    char *key; /* version, or digest of a layer */
    bool is_layer, is_archive;
    bool is_wanted;  /* somebody has asked for it since the last attempt */
    bool is_resting; /* nobody had when it was to be tried again */
    enum module_answer answer;
    struct module_source source;
    json_t *objects;
    struct error err;

    struct retry retry;
    struct loop_timer timer; /* of the next attempt */
    struct fetch *fetch;
    struct registry_call *call;
    struct buffer bytes;
};

struct module_store {
    struct module_store_options options;
    struct lookup lookup;
    struct entry **entries; /* sorted */
    size_t count;
};

struct module_store *module_store_new(const struct module_store_options *options)
{
    struct module_store *store = xcalloc(1, sizeof(*store));

    store->options = *options;
    store->lookup = (struct lookup){
        .loop = options->loop,
        .registry = options->registry,
        .context = options->repository,
    };
    return store;
}

static void entry_free(struct entry *entry)
{
    loop_timer_stop(&entry->timer);
    fetch_cancel(entry->fetch);
    registry_cancel(entry->call);
    module_source_done(&entry->source);
    json_decref(entry->objects);
    buffer_done(&entry->bytes);
    free(entry->component);
    free(entry->key);
    free(entry);
}

void module_store_free(struct module_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        entry_free(store->entries[i]);
    free(store->entries);
    free(store);
}

/* ---- Attempts ---- */

static void end_attempt(struct entry *entry, const struct error *err)
{
    const struct module_store_options *options = &entry->store->options;

    if (err->kind == ERROR_NONE) {
        entry->answer = MODULE_ANSWER_KNOWN;
    } else {
        entry->answer = MODULE_ANSWER_FAILED;
        entry->err = *err;
        /* The content of a digest never changes. A tag may be pushed again. */
        if (!entry->is_layer || err->kind != ERROR_INVALID)
            loop_timer_start(&entry->timer, retry_next_ms(&entry->retry, err));
    }
    buffer_done(&entry->bytes);
    entry->is_wanted = false;
    options->on_change(options->data, entry->component);
}

static void on_descriptor(void *data, struct found *found, const struct error *err)
{
    struct entry *entry = data;
    struct error result = *err;

    entry->fetch = NULL;
    if (result.kind == ERROR_NONE)
        (void)!module_source_find(found->descriptor, &found->manifest, &entry->source, &result);
    found_done(found);
    end_attempt(entry, &result);
}

static int on_bytes(void *data, const char *bytes, size_t size, struct error *err)
{
    struct entry *entry = data;

    return buffer_append(&entry->bytes, bytes, size, err);
}

static void on_restart(void *data)
{
    struct entry *entry = data;

    buffer_clear(&entry->bytes);
}

static int read_layer(struct entry *entry, struct error *err)
{
    cleanup_free char *text = NULL;
    size_t size = entry->bytes.size;

    if (!entry->is_archive)
        return module_objects_parse(size > 0 ? entry->bytes.data : "", size, &entry->objects, err);
    if (unpack_find_file(size > 0 ? entry->bytes.data : "", size, NULL, MODULE_BYTES_MAX, &text,
                         &size, err) < 0) {
        err->kind = ERROR_INVALID;
        return -1;
    }
    return module_objects_parse(text, size, &entry->objects, err);
}

static void on_layer(void *data, const struct error *err)
{
    struct entry *entry = data;
    struct error result = *err;

    entry->call = NULL;
    if (result.kind == ERROR_NONE && read_layer(entry, &result) < 0 &&
        result.kind == ERROR_TOO_LARGE)
        result.kind = ERROR_INVALID;
    if (result.kind != ERROR_NONE)
        (void)error_wrap(&result, "module content %s of component \"%s\"", entry->key,
                         entry->component);
    end_attempt(entry, &result);
}

static void start_layer(struct entry *entry)
{
    const struct repository *repository = entry->store->options.repository;
    cleanup_free char *path = repository_component_path(repository, entry->component);
    const struct registry_place place = {
        .host = repository->host,
        .repository = path,
        .is_plain_http = repository->is_plain_http,
    };
    const struct registry_blob blob = {
        .digest = entry->key,
        .size = -1,
        .max_bytes = MODULE_BYTES_MAX,
        .on_bytes = on_bytes,
        .on_restart = on_restart,
        .on_done = on_layer,
        .data = entry,
    };
    struct error err = {0};

    buffer_init(&entry->bytes, MODULE_BYTES_MAX);
    if (registry_get_blob(entry->store->options.registry, &place, &blob, &entry->call, &err) < 0)
        on_layer(entry, &err);
}

/* Always from the loop, so that on_change is never called while somebody asks. */
static void attempt(void *data)
{
    struct entry *entry = data;

    entry->is_resting = !entry->is_wanted;
    if (entry->is_resting)
        return;
    if (entry->is_layer)
        start_layer(entry);
    else
        entry->fetch =
            fetch_start(&entry->store->lookup, entry->component, entry->key, on_descriptor, entry);
}

/* ---- Entries ---- */

static int compare(const struct entry *entry, const char *component, const char *key)
{
    int order = strcmp(entry->component, component);

    return order ? order : strcmp(entry->key, key);
}

/* The place of an entry, or the place where it belongs. */
static size_t find_place(const struct module_store *store, const char *component, const char *key)
{
    size_t first = 0, end = store->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (compare(store->entries[middle], component, key) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* A version never looks like a digest, so both kinds of keys share one list. */
static struct entry *get_entry(struct module_store *store, const char *component, const char *key,
                               bool is_layer, bool is_archive)
{
    size_t place = find_place(store, component, key);
    struct entry *entry;

    if (place < store->count && compare(store->entries[place], component, key) == 0) {
        entry = store->entries[place];
        entry->is_wanted = true;
        if (entry->is_resting && !loop_timer_is_running(&entry->timer))
            loop_timer_start(&entry->timer, 0);
        return entry;
    }
    entry = xcalloc(1, sizeof(*entry));
    *entry = (struct entry){
        .store = store,
        .component = xstrdup(component),
        .key = xstrdup(key),
        .is_layer = is_layer,
        .is_archive = is_archive,
        .is_wanted = true,
        .answer = MODULE_ANSWER_WAIT,
    };
    retry_init(&entry->retry, RETRY_FIRST_MS, RETRY_MAX_MS);
    loop_timer_init(&entry->timer, store->options.loop, attempt, entry);
    loop_timer_start(&entry->timer, 0);
    store->entries = xreallocarray(store->entries, store->count + 1, sizeof(struct entry *));
    memmove(store->entries + place + 1, store->entries + place,
            (store->count - place) * sizeof(struct entry *));
    store->entries[place] = entry;
    store->count++;
    return entry;
}

enum module_answer module_store_source(struct module_store *store, const char *component,
                                       const char *version, const struct module_source **ret_source,
                                       struct error *err)
{
    const struct entry *entry = get_entry(store, component, version, false, false);

    if (entry->answer == MODULE_ANSWER_KNOWN)
        *ret_source = &entry->source;
    if (entry->answer == MODULE_ANSWER_FAILED)
        *err = entry->err;
    return entry->answer;
}

enum module_answer module_store_objects(struct module_store *store, const char *component,
                                        const char *digest, bool is_archive,
                                        const json_t **ret_objects, struct error *err)
{
    const struct entry *entry = get_entry(store, component, digest, true, is_archive);

    if (entry->answer == MODULE_ANSWER_KNOWN)
        *ret_objects = entry->objects;
    if (entry->answer == MODULE_ANSWER_FAILED)
        *err = entry->err;
    return entry->answer;
}
