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

/* ---- Requests ---- */

static void decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++, to++) {
        *to = *from;
        if (*from == '%') {
            const char digits[3] = {from[1], from[2], 0};

            *to = (char)strtol(digits, NULL, 16);
            from += 2;
        }
    }
    *to = '\0';
}

struct api_request api_request_parse(const char *text)
{
    struct api_request request = {0};
    const char *space = strchr(text, ' ');
    const char *target = space + 1;
    size_t path = strcspn(target, " ?");
    const char *body = strstr(text, "\r\n\r\n") + 4;
    struct error err = {0};

    memcpy(request.method, text, (size_t)(space - text));
    memcpy(request.path, target, path);
    if (target[path] == '?')
        memcpy(request.query, target + path + 1, strcspn(target + path + 1, " "));
    decode(request.query);
    request.is_apply = strcasestr(text, "application/apply-patch+yaml") != NULL;
    if (*body)
        must(doc_parse_json(body, strlen(body), 1 << 24, &request.body, &err) == 0);
    return request;
}

char *api_request_parameter(const struct api_request *request, const char *name)
{
    cleanup_free char *pattern = xasprintf("%s=", name);
    const char *found = strstr(request->query, pattern);

    return found ? xstrndup(found + strlen(pattern), strcspn(found + strlen(pattern), "&")) : NULL;
}

static void answer_object(struct api_bench *bench, const char *status, const json_t *object)
{
    json_decref(bench->answer);
    bench->answer = json_deep_copy(object);
    bench->answer_status = status;
}

static void answer_status(struct api_bench *bench, const char *status, const char *reason,
                          const char *message)
{
    cleanup_json json_t *object = json_object();

    doc_set_text(object, "kind", "Status");
    doc_set_text(object, "apiVersion", "v1");
    doc_set_text(object, "status", "Failure");
    doc_set_text(object, "reason", reason);
    doc_set_text(object, "message", message);
    doc_set_new(object, "code", json_integer(strtol(status, NULL, 10)));
    answer_object(bench, status, object);
}

static void answer_not_found(struct api_bench *bench, const char *path)
{
    cleanup_free char *message = xasprintf("\"%s\" not found", strrchr(path, '/') + 1);

    answer_status(bench, "404 Not Found", "NotFound", message);
}

/* ---- Verbs ---- */

/* Custom resources are served if their CRD is established. */
static bool is_served(struct api_bench *bench, const char *path)
{
    const char *key = NULL;
    json_t *object = NULL;

    if (!strstr(path, ".example.com/"))
        return true;
    json_object_foreach(bench->objects, key, object)
    {
        cleanup_free char *prefix = xasprintf("/apis/%s/", doc_text_or(object, "spec.group", "-"));
        cleanup_free char *plural = xasprintf("/%s", doc_text_or(object, "spec.names.plural", "-"));

        if (strncmp(key, API_CRDS, strlen(API_CRDS)) == 0 && doc_get(object, "status") &&
            strncmp(path, prefix, strlen(prefix)) == 0 && strstr(path, plural))
            return true;
    }
    return false;
}

static bool has_namespace(struct api_bench *bench, const char *path, char **ret_name)
{
    const char *found = strstr(path, "/namespaces/");
    const char *start = found ? found + strlen("/namespaces/") : NULL;
    cleanup_free char *object_path = NULL;

    if (!start || !strchr(start, '/') || !bench->are_namespaces_checked)
        return true;
    *ret_name = xstrndup(start, strcspn(start, "/"));
    object_path = xasprintf("/api/v1/namespaces/%s", *ret_name);
    return api_bench_get(bench, object_path) != NULL;
}

static void create(struct api_bench *bench, const struct api_request *request, const char *path)
{
    cleanup_free char *namespace_name = NULL;
    json_t *object = NULL;

    if (!has_namespace(bench, path, &namespace_name)) {
        cleanup_free char *message = xasprintf("namespaces \"%s\" not found", namespace_name);

        answer_status(bench, "404 Not Found", "NotFound", message);
        return;
    }
    if (api_bench_get(bench, path)) {
        answer_status(bench, "409 Conflict", "AlreadyExists", "object already exists");
        return;
    }
    object = json_deep_copy(request->body);
    api_complete(bench, object);
    if (strstr(request->query, "dryRun=All")) {
        answer_object(bench, "201 Created", object);
        json_decref(object);
        return;
    }
    api_store(bench, path, object, "ADDED");
    answer_object(bench, "201 Created", object);
    if (bench->is_establishing && strncmp(path, API_CRDS, strlen(API_CRDS)) == 0)
        api_bench_establish(bench, path + strlen(API_CRDS));
}

/* Only {"op": "replace"} of members of metadata. */
static void json_patch(json_t *object, const json_t *patch)
{
    const json_t *step = NULL;
    size_t i = 0;

    json_array_foreach(patch, i, step)
    {
        const char *path = doc_text(step, "path");

        must(strncmp(path, "/metadata/", strlen("/metadata/")) == 0);
        (void)json_object_set(json_object_get(object, "metadata"), path + strlen("/metadata/"),
                              json_object_get(step, "value"));
    }
}

static void change(struct api_bench *bench, const struct api_request *request)
{
    const json_t *live = api_bench_get(bench, request->path);
    const char *wanted = json_is_array(request->body)
                             ? doc_text(json_array_get(request->body, 1), "value")
                             : doc_text(request->body, "metadata.resourceVersion");
    json_t *object = NULL;

    if (!live) {
        answer_not_found(bench, request->path);
        return;
    }
    if (wanted && strcmp(wanted, doc_text_or(live, "metadata.resourceVersion", "")) != 0) {
        answer_status(bench, "409 Conflict", "Conflict", "the object has been modified");
        return;
    }
    if (strcmp(request->method, "PATCH") == 0) {
        object = json_deep_copy(live);
        if (json_is_array(request->body))
            json_patch(object, request->body);
        else
            api_merge_patch(object, request->body);
    } else {
        object = json_deep_copy(request->body);
        doc_set_text(object, "metadata.uid", doc_text_or(live, "metadata.uid", ""));
        if (doc_text(live, "metadata.deletionTimestamp"))
            doc_set_text(object, "metadata.deletionTimestamp",
                         doc_text(live, "metadata.deletionTimestamp"));
    }
    doc_set_text(object, "metadata.resourceVersion",
                 doc_text_or(live, "metadata.resourceVersion", ""));
    if (strstr(request->query, "dryRun=All") || json_equal(object, doc_writable(live))) {
        answer_object(bench, "200 OK", object);
        json_decref(object);
        return;
    }
    api_store(bench, request->path, object, "MODIFIED");
    answer_object(bench, "200 OK", object);
    if (doc_text(object, "metadata.deletionTimestamp") &&
        json_array_size(doc_get(object, "metadata.finalizers")) == 0)
        api_bench_remove(bench, request->path);
}

static void remove_object(struct api_bench *bench, const struct api_request *request)
{
    json_t *live = api_bench_get(bench, request->path);
    const char *uid = doc_text(request->body, "preconditions.uid");

    if (!live) {
        answer_not_found(bench, request->path);
    } else if (uid && strcmp(uid, doc_text_or(live, "metadata.uid", "")) != 0) {
        answer_status(bench, "409 Conflict", "Conflict", "the UID in the precondition differs");
    } else if (json_array_size(doc_get(live, "metadata.finalizers"))) {
        json_t *object = json_deep_copy(live);

        doc_set_text(object, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
        api_store(bench, request->path, object, "MODIFIED");
        answer_object(bench, "200 OK", object);
    } else {
        answer_object(bench, "200 OK", live);
        api_bench_remove(bench, request->path);
    }
}

static void list(struct api_bench *bench, const struct api_request *request, const char *name,
                 const char *label)
{
    cleanup_json json_t *answer = json_object();
    json_t *items = json_array();
    const char *path = NULL;
    json_t *object = NULL;
    char version[32];

    (void)snprintf(version, sizeof(version), "%llu", (unsigned long long)bench->version);
    json_object_foreach(bench->objects, path, object)
    {
        json_t *copy = NULL;

        if (!api_is_in(path, request->path) || !api_matches(object, name, label))
            continue;
        copy = json_copy(object);
        (void)json_object_del(copy, "apiVersion");
        (void)json_object_del(copy, "kind");
        (void)json_array_append_new(items, copy);
    }
    doc_set_text(answer, "metadata.resourceVersion", version);
    doc_set_new(answer, "items", items);
    answer_object(bench, "200 OK", answer);
}

static void watch(struct api_bench *bench, struct loopback_connection *connection,
                  const struct api_request *request, const char *name, const char *label)
{
    cleanup_free char *version = api_request_parameter(request, "resourceVersion");
    struct api_watcher *watcher = &bench->watchers[bench->watcher_count++];
    const json_t *entry = NULL;
    size_t i = 0;

    must(bench->watcher_count < API_WATCHERS_MAX);
    *watcher = (struct api_watcher){connection, xstrdup(request->path), xstrdup_or_null(name),
                                    xstrdup_or_null(label)};
    loopback_send(connection, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    json_array_foreach(bench->history, i, entry)
    {
        if (strtol(doc_text_or(entry, "event.object.metadata.resourceVersion", ""), NULL, 10) >
            strtol(version, NULL, 10))
            api_send_event(watcher, entry);
    }
}

static bool is_object_path(const char *path)
{
    size_t parts = 0;
    size_t extra = strncmp(path, "/api/", 5) == 0 ? 0 : 1; /* the group */

    for (const char *slash = path; slash; slash = strchr(slash + 1, '/'))
        parts++;
    if (strstr(path, "/namespaces/"))
        return parts == 4 + extra || parts == 6 + extra;
    return parts == 4 + extra;
}

static void get(struct api_bench *bench, const struct api_request *request)
{
    cleanup_free char *label = api_request_parameter(request, "labelSelector");
    cleanup_free char *field = api_request_parameter(request, "fieldSelector");
    const char *name = field ? strchr(field, '=') + 1 : NULL;
    const json_t *object = api_bench_get(bench, request->path);

    if (is_object_path(request->path)) {
        if (object)
            answer_object(bench, "200 OK", object);
        else
            answer_not_found(bench, request->path);
    } else if (strstr(request->query, "watch=true")) {
        watch(bench, bench->connection, request, name, label);
    } else if (strcmp(request->path, "/apis") == 0) {
        cleanup_json json_t *old = json_pack("{s:s, s:[]}", "kind", "APIGroupList", "groups");

        answer_object(bench, "200 OK", object ? object : old);
    } else if (strstr(request->query, "limit=")) {
        list(bench, request, name, label);
    } else if (object) { /* discovery that the test has put there */
        answer_object(bench, "200 OK", object);
    } else {
        answer_not_found(bench, request->path);
    }
}

static void handle(struct api_bench *bench, const struct api_request *request)
{
    cleanup_free char *path =
        xasprintf("%s/%s", request->path, doc_text_or(request->body, "metadata.name", ""));

    if (!is_served(bench, request->path))
        answer_status(bench, "404 Not Found", "NotFound",
                      "the server could not find the requested resource");
    else if (strcmp(request->method, "GET") == 0)
        get(bench, request);
    else if (strcmp(request->method, "POST") == 0)
        create(bench, request, path);
    else if (strcmp(request->method, "DELETE") == 0)
        remove_object(bench, request);
    else if (request->is_apply && !api_bench_get(bench, request->path))
        create(bench, request, request->path);
    else
        change(bench, request);
}

/* ---- Rules ---- */

struct api_rule *api_bench_rule(struct api_bench *bench, const char *match, int count,
                                const char *status, const char *message)
{
    must(bench->rule_count < API_RULES_MAX);
    bench->rules[bench->rule_count] = (struct api_rule){
        .match = xstrdup(match),
        .count = count,
        .status = xstrdup_or_null(status),
        .message = xstrdup_or_null(message),
    };
    return &bench->rules[bench->rule_count++];
}

static struct api_rule *rule_for(struct api_bench *bench, const char *line)
{
    for (size_t i = 0; i < bench->rule_count; i++) {
        struct api_rule *rule = &bench->rules[i];

        if (rule->count != 0 && strstr(line, rule->match)) {
            rule->count -= rule->count > 0;
            return rule;
        }
    }
    return NULL;
}

static void reply(struct api_bench *bench, struct loopback_connection *connection)
{
    cleanup_free char *body = NULL;

    if (!bench->answer)
        return;
    if (bench->is_holding) {
        bench->is_holding = false;
        bench->held_count++;
        bench->held_connection = connection;
        bench->held_answer = json_incref(bench->answer);
        return;
    }
    body = doc_dump(bench->answer);
    loopback_answer(connection, bench->answer_status, "Content-Type: application/json\r\n", body);
}

void api_bench_release(struct api_bench *bench)
{
    json_decref(bench->answer);
    bench->answer = bench->held_answer;
    bench->held_answer = NULL;
    bench->answer_status = "200 OK";
    reply(bench, bench->held_connection);
}

void api_server_on_request(void *data, struct loopback_connection *connection, const char *text)
{
    struct api_bench *bench = data;
    struct api_request request = api_request_parse(text);
    cleanup_free char *line = xstrndup(text, strcspn(text, "\r"));
    const struct api_rule *rule = rule_for(bench, line);

    bench->connection = connection;
    json_decref(bench->answer);
    bench->answer = NULL;
    if (!rule || rule->is_late)
        handle(bench, &request);
    if (rule && rule->status)
        answer_status(bench, rule->status,
                      strstr(rule->status, "AlreadyExists") ? "AlreadyExists" : "Scripted",
                      rule->message ? rule->message : "");
    if (!rule || rule->status)
        reply(bench, connection);
    else if (rule->is_late)
        loopback_close(connection);
    json_decref(request.body);
    if (bench->on_request)
        bench->on_request(bench->data, line);
}
