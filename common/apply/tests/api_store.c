/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/api_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

static size_t parent_length(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

bool api_is_in(const char *path, const char *collection)
{
    const char *plural = strrchr(collection, '/');

    if (strncmp(path, collection, strlen(collection)) == 0 &&
        parent_length(path) == strlen(collection))
        return true;
    /* A list over all namespaces. */
    return !strstr(collection, "/namespaces/") && strstr(path, "/namespaces/") &&
           strncmp(path, collection, (size_t)(plural - collection)) == 0 &&
           parent_length(path) > strlen(plural) &&
           strncmp(path + parent_length(path) - strlen(plural), plural, strlen(plural)) == 0;
}

bool api_matches(const json_t *object, const char *name, const char *label)
{
    cleanup_free char *key = label ? xstrndup(label, strcspn(label, "=")) : NULL;
    const char *value = NULL;

    if (name && strcmp(name, doc_text_or(object, "metadata.name", "")) != 0)
        return false;
    if (!key)
        return true;
    value = json_string_value(doc_member(doc_get(object, "metadata.labels"), key));
    return value && strcmp(value, label + strlen(key) + 1) == 0;
}

void api_send_event(const struct api_watcher *watcher, const json_t *entry)
{
    const char *path = doc_text(entry, "path");
    cleanup_free char *text = NULL;
    cleanup_free char *chunk = NULL;

    if (!api_is_in(path, watcher->collection) ||
        !api_matches(doc_get(entry, "event.object"), watcher->name, watcher->label))
        return;
    text = doc_dump(doc_get(entry, "event"));
    chunk = xasprintf("%zx\r\n%s\n\r\n", strlen(text) + 1, text);
    loopback_send(watcher->connection, chunk);
}

static void notify(struct api_bench *bench, const char *path, const char *type,
                   const json_t *object)
{
    json_t *entry = json_object();

    doc_set_text(entry, "path", path);
    doc_set_text(entry, "event.type", type);
    doc_set_new(entry, "event.object", json_deep_copy(object));
    (void)json_array_append_new(bench->history, entry);
    for (size_t i = 0; i < bench->watcher_count; i++)
        api_send_event(&bench->watchers[i], entry);
}

void api_bench_replay(struct api_bench *bench, size_t from)
{
    for (; from < json_array_size(bench->history); from++) {
        for (size_t i = 0; i < bench->watcher_count; i++)
            api_send_event(&bench->watchers[i], json_array_get(bench->history, from));
    }
}

static void set_version(struct api_bench *bench, json_t *object)
{
    char version[32];

    (void)snprintf(version, sizeof(version), "%llu", (unsigned long long)++bench->version);
    doc_set_text(object, "metadata.resourceVersion", version);
}

void api_store(struct api_bench *bench, const char *path, json_t *object, const char *type)
{
    set_version(bench, object);
    (void)json_object_set_new(bench->objects, path, object);
    notify(bench, path, type, object);
}

json_t *api_bench_get(struct api_bench *bench, const char *path)
{
    return json_object_get(bench->objects, path);
}

void api_bench_touch(struct api_bench *bench, const char *path)
{
    api_store(bench, path, json_incref(api_bench_get(bench, path)), "MODIFIED");
}

void api_bench_remove(struct api_bench *bench, const char *path)
{
    json_t *object = json_incref(api_bench_get(bench, path));

    set_version(bench, object);
    (void)json_object_del(bench->objects, path);
    notify(bench, path, "DELETED", object);
    json_decref(object);
}

void api_complete(struct api_bench *bench, json_t *object)
{
    char uid[32];

    (void)snprintf(uid, sizeof(uid), "uid-%llu", (unsigned long long)++bench->uid);
    doc_set_text(object, "metadata.uid", uid);
    doc_set_text(object, "metadata.creationTimestamp", "2026-01-01T00:00:00Z");
}

json_t *api_bench_put(struct api_bench *bench, const char *path, const char *json)
{
    json_t *object = NULL;
    json_t *old = api_bench_get(bench, path);
    const char *namespaces = strstr(path, "/namespaces/");
    const char *version = strstr(path, "/apis/") == path ? path + strlen("/apis/") : "v1";
    struct error err = {0};

    if (doc_parse_json(json, strlen(json), 1 << 20, &object, &err) < 0)
        fail_msg("%s: %s", json, err.text);
    if (!doc_text(object, "apiVersion")) {
        const char *slash = strchr(version, '/');
        cleanup_free char *text =
            slash ? xstrndup(version, (size_t)(slash + 1 - version) + strcspn(slash + 1, "/"))
                  : xstrdup(version);

        doc_set_text(object, "apiVersion", text);
    }
    doc_set_text(object, "metadata.name", strrchr(path, '/') + 1);
    if (namespaces && strchr(namespaces + strlen("/namespaces/"), '/')) {
        cleanup_free char *name = xstrndup(namespaces + strlen("/namespaces/"),
                                           strcspn(namespaces + strlen("/namespaces/"), "/"));

        doc_set_text(object, "metadata.namespace", name);
    }
    api_complete(bench, object);
    if (old)
        doc_set_text(object, "metadata.uid", doc_text_or(old, "metadata.uid", ""));
    api_store(bench, path, object, old ? "MODIFIED" : "ADDED");
    return object;
}

void api_bench_establish(struct api_bench *bench, const char *crd_name)
{
    cleanup_free char *path = xasprintf(API_CRDS "%s", crd_name);
    json_t *crd = json_incref(api_bench_get(bench, path));

    doc_set_new(crd, "status",
                json_pack("{s:[{s:s,s:s},{s:s,s:s}]}", "conditions", "type", "NamesAccepted",
                          "status", "True", "type", "Established", "status", "True"));
    api_store(bench, path, crd, "MODIFIED");
}

void api_merge_patch(json_t *target, const json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;

    doc_foreach(patch, key, value)
    {
        if (json_is_null(value)) {
            (void)json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key)))
                (void)json_object_set_new(target, key, json_object());
            api_merge_patch(json_object_get(target, key), value);
        } else {
            (void)json_object_set_new(target, key, json_deep_copy(value));
        }
    }
}
