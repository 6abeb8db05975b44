/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/api_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/fuzz/must.h"

enum { LINE_MAX_SIZE = 2048 };

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

/* ---- Requests ---- */

struct request {
    char method[16];
    char path[LINE_MAX_SIZE];  /* without the query */
    char query[LINE_MAX_SIZE]; /* decoded */
    bool is_apply;
    json_t *body;
};

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

static struct request parse(const char *text)
{
    struct request request = {0};
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

/* The value of a query parameter, or NULL. Belongs to the caller. */
static char *parameter(const struct request *request, const char *name)
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

/* ---- Objects ---- */

static size_t parent_length(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static bool is_in(const char *path, const char *collection)
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

static bool matches(const json_t *object, const char *name, const char *label)
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

static void send_event(const struct api_watcher *watcher, const json_t *entry)
{
    const char *path = doc_text(entry, "path");
    cleanup_free char *text = NULL;
    cleanup_free char *chunk = NULL;

    if (!is_in(path, watcher->collection) ||
        !matches(doc_get(entry, "event.object"), watcher->name, watcher->label))
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
        send_event(&bench->watchers[i], entry);
}

static void set_version(struct api_bench *bench, json_t *object)
{
    char version[32];

    (void)snprintf(version, sizeof(version), "%llu", (unsigned long long)++bench->version);
    doc_set_text(object, "metadata.resourceVersion", version);
}

/* Takes object over. */
static void store(struct api_bench *bench, const char *path, json_t *object, const char *type)
{
    set_version(bench, object);
    (void)json_object_set_new(bench->objects, path, object);
    notify(bench, path, type, object);
}

json_t *api_bench_get(struct api_bench *bench, const char *path)
{
    return json_object_get(bench->objects, path);
}

void api_bench_remove(struct api_bench *bench, const char *path)
{
    json_t *object = json_incref(api_bench_get(bench, path));

    set_version(bench, object);
    (void)json_object_del(bench->objects, path);
    notify(bench, path, "DELETED", object);
    json_decref(object);
}

/* Adds what a new object has. */
static void complete(struct api_bench *bench, json_t *object)
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
    complete(bench, object);
    if (old)
        doc_set_text(object, "metadata.uid", doc_text_or(old, "metadata.uid", ""));
    store(bench, path, object, old ? "MODIFIED" : "ADDED");
    return object;
}

void api_bench_establish(struct api_bench *bench, const char *crd_name)
{
    cleanup_free char *path = xasprintf(CRDS "%s", crd_name);
    json_t *crd = json_incref(api_bench_get(bench, path));

    doc_set_new(crd, "status",
                json_pack("{s:[{s:s,s:s},{s:s,s:s}]}", "conditions", "type", "NamesAccepted",
                          "status", "True", "type", "Established", "status", "True"));
    store(bench, path, crd, "MODIFIED");
}

/* RFC 7386. */
static void merge_patch(json_t *target, const json_t *patch)
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
            merge_patch(json_object_get(target, key), value);
        } else {
            (void)json_object_set_new(target, key, json_deep_copy(value));
        }
    }
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

        if (strncmp(key, CRDS, strlen(CRDS)) == 0 && doc_get(object, "status") &&
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

    if (!start || !bench->are_namespaces_checked)
        return true;
    *ret_name = xstrndup(start, strcspn(start, "/"));
    object_path = xasprintf("/api/v1/namespaces/%s", *ret_name);
    return api_bench_get(bench, object_path) != NULL;
}

static void create(struct api_bench *bench, const struct request *request, const char *path)
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
    complete(bench, object);
    if (strstr(request->query, "dryRun=All")) {
        answer_object(bench, "201 Created", object);
        json_decref(object);
        return;
    }
    store(bench, path, object, "ADDED");
    answer_object(bench, "201 Created", object);
    if (bench->is_establishing && strncmp(path, CRDS, strlen(CRDS)) == 0)
        api_bench_establish(bench, path + strlen(CRDS));
}

static void change(struct api_bench *bench, const struct request *request)
{
    const json_t *live = api_bench_get(bench, request->path);
    const char *wanted = doc_text(request->body, "metadata.resourceVersion");
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
        merge_patch(object, request->body);
    } else {
        object = json_deep_copy(request->body);
        doc_set_text(object, "metadata.uid", doc_text_or(live, "metadata.uid", ""));
        if (doc_text(live, "metadata.deletionTimestamp"))
            doc_set_text(object, "metadata.deletionTimestamp",
                         doc_text(live, "metadata.deletionTimestamp"));
    }
    if (strstr(request->query, "dryRun=All")) {
        answer_object(bench, "200 OK", object);
        json_decref(object);
        return;
    }
    store(bench, request->path, object, "MODIFIED");
    answer_object(bench, "200 OK", object);
    if (doc_text(object, "metadata.deletionTimestamp") &&
        json_array_size(doc_get(object, "metadata.finalizers")) == 0)
        api_bench_remove(bench, request->path);
}

static void remove_object(struct api_bench *bench, const struct request *request)
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
        store(bench, request->path, object, "MODIFIED");
        answer_object(bench, "200 OK", object);
    } else {
        answer_object(bench, "200 OK", live);
        api_bench_remove(bench, request->path);
    }
}

static void list(struct api_bench *bench, const struct request *request, const char *name,
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
        if (is_in(path, request->path) && matches(object, name, label))
            (void)json_array_append(items, object);
    }
    doc_set_text(answer, "metadata.resourceVersion", version);
    doc_set_new(answer, "items", items);
    answer_object(bench, "200 OK", answer);
}

static void watch(struct api_bench *bench, struct loopback_connection *connection,
                  const struct request *request, const char *name, const char *label)
{
    cleanup_free char *version = parameter(request, "resourceVersion");
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
            send_event(watcher, entry);
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

static void get(struct api_bench *bench, const struct request *request)
{
    cleanup_free char *label = parameter(request, "labelSelector");
    cleanup_free char *field = parameter(request, "fieldSelector");
    const char *name = field ? strchr(field, '=') + 1 : NULL;
    const json_t *object = api_bench_get(bench, request->path);

    if (is_object_path(request->path)) {
        if (object)
            answer_object(bench, "200 OK", object);
        else
            answer_not_found(bench, request->path);
    } else if (strstr(request->query, "watch=true")) {
        watch(bench, bench->connection, request, name, label);
    } else if (strcmp(request->path, "/apis") == 0 && object) {
        answer_object(bench, "200 OK", object);
    } else if (strstr(request->query, "limit=")) {
        list(bench, request, name, label);
    } else if (object) { /* discovery that the test has put there */
        answer_object(bench, "200 OK", object);
    } else {
        answer_not_found(bench, request->path);
    }
}

static void handle(struct api_bench *bench, const struct request *request)
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
    body = doc_dump(bench->answer);
    loopback_answer(connection, bench->answer_status, "Content-Type: application/json\r\n", body);
}

static void on_request(void *data, struct loopback_connection *connection, const char *text)
{
    struct api_bench *bench = data;
    struct request request = parse(text);
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

/* ---- The bench ---- */

struct kube_config *api_bench_config(const struct api_bench *bench)
{
    cleanup_free char *text =
        xasprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
                  "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]}",
                  bench->server.port);
    struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_from_text(text, &config, &err), 0);
    return config;
}

static int setup(void **state, bool is_fake)
{
    struct api_bench *bench = xcalloc(1, sizeof(*bench));
    struct error err = {0};

    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    doc_setup();
    clock_fake_init(&bench->clock, 1000000000000);
    assert_int_equal(loop_new(is_fake ? &bench->clock.clock : clock_system(), &bench->loop, &err),
                     0);
    loopback_start(&bench->server, bench->loop, on_request, bench);
    bench->objects = json_object();
    bench->history = json_array();
    bench->version = 100;
    bench->pool = cluster_pool_new(bench->loop, "test/1");
    assert_int_equal(cluster_get(bench->pool, api_bench_config(bench), &bench->cluster, &err), 0);
    *state = bench;
    return 0;
}

int api_bench_setup(void **state)
{
    return setup(state, false);
}

int api_bench_setup_fake(void **state)
{
    return setup(state, true);
}

int api_bench_teardown(void **state)
{
    struct api_bench *bench = *state;

    cluster_put(bench->cluster);
    cluster_pool_free(bench->pool);
    loopback_done(&bench->server);
    loop_free(bench->loop);
    for (size_t i = 0; i < bench->rule_count; i++) {
        free(bench->rules[i].match);
        free(bench->rules[i].status);
        free(bench->rules[i].message);
    }
    for (size_t i = 0; i < bench->watcher_count; i++) {
        free(bench->watchers[i].collection);
        free(bench->watchers[i].name);
        free(bench->watchers[i].label);
    }
    json_decref(bench->objects);
    json_decref(bench->history);
    json_decref(bench->answer);
    free(bench->log);
    free(bench);
    return 0;
}

void api_bench_run_once(struct api_bench *bench)
{
    struct error err = {0};

    if (loop_run_once(bench->loop, -1, &err) < 0)
        fail_msg("%s", err.text);
}

void api_bench_run(struct api_bench *bench, const bool *is_done)
{
    while (!*is_done)
        api_bench_run_once(bench);
}

void api_bench_run_idle(struct api_bench *bench)
{
    struct error err = {0};

    for (int i = 0; i < 20; i++)
        assert_int_equal(loop_run_once(bench->loop, 1, &err), 0);
}

static void append_line(struct buffer *log, const char *text)
{
    struct request request = parse(text);
    cleanup_free char *field = parameter(&request, "fieldSelector");
    const char *method = strstr(request.query, "watch=true") ? "WATCH"
                         : strstr(request.query, "limit=")   ? "LIST"
                         : request.is_apply                  ? "APPLY"
                                                             : request.method;
    struct error err = {0};

    must(buffer_append_text(log, &err, "%s%s %s%s%s%s", log->size ? "; " : "", method, request.path,
                            field ? "[" : "", field ? strchr(field, '=') + 1 : "",
                            field ? "]" : "") == 0);
    json_decref(request.body);
}

const char *api_bench_log(struct api_bench *bench)
{
    cleanup_buffer struct buffer log = {0};

    buffer_init(&log, 1 << 20);
    for (; bench->mark < bench->server.request_count; bench->mark++)
        append_line(&log, bench->server.requests[bench->mark]);
    free(bench->log);
    bench->log = buffer_take(&log);
    return bench->log;
}

size_t api_bench_count(const struct api_bench *bench, const char *text)
{
    size_t count = 0;

    for (size_t i = 0; i < bench->server.request_count; i++) {
        cleanup_free char *line =
            xstrndup(bench->server.requests[i], strcspn(bench->server.requests[i], "\r"));

        count += strstr(line, text) != NULL;
    }
    return count;
}
