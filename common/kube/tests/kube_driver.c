/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the Kubernetes client: one JSON command per line on stdin, one JSON result per line on
 * stdout; commands run concurrently. Used by e2e/api/kube_client.
 *
 *   kube_driver --kubeconfig FILE | --in-cluster DIRECTORY
 *   {"do": "call", "id": "1", "verb": "get", "plural": "secrets", "namespace": "a", "name": "b"}
 *   {"do": "list", ...}  {"do": "watch", ...}  {"do": "stop", "id": "1"}
 *   {"do": "lease", ...}  {"do": "release", "id": "1"}  {"do": "stats", "id": "1"} */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/lease.h"
#include "common/kube/list.h"
#include "common/kube/tests/verbs.h"
#include "common/kube/watch.h"

enum { COMMAND_MAX = 8 * 1024 * 1024, THINGS_MAX = 64 };

struct driver {
    struct loop *loop;
    struct http_client *http;
    struct kube *kube;
    struct buffer input;
    bool is_over;
    struct thing *things[THINGS_MAX];
};

/* A running command, which reports under its id. */
struct thing {
    struct driver *driver;
    char *id;
    struct kube_watch *watch;
    struct lease *lease;
    size_t count;
    size_t slot;
    bool is_quiet;
};

static void print(json_t *line)
{
    cleanup_free char *text = doc_dump(line);

    (void)printf("%s\n", text);
    (void)fflush(stdout);
    json_decref(line);
}

static json_t *error_object(const struct error *err)
{
    if (!err || err->kind == ERROR_NONE)
        return json_null();
    return json_pack("{s:s, s:s, s:i, s:i}", "kind", error_kind_name(err->kind), "text", err->text,
                     "httpStatus", err->http_status, "retryAfterMs", (int)err->retry_after_ms);
}

static struct thing *new_thing(struct driver *driver, const json_t *command)
{
    struct thing *thing = xcalloc(1, sizeof(*thing));

    thing->driver = driver;
    thing->id = xstrdup(doc_text_or(command, "id", ""));
    thing->slot = THINGS_MAX;
    thing->is_quiet = doc_bool_or(command, "quiet", false);
    return thing;
}

static void free_thing(struct thing *thing)
{
    if (thing->slot < THINGS_MAX)
        thing->driver->things[thing->slot] = NULL;
    free(thing->id);
    free(thing);
}

static void keep_thing(struct thing *thing)
{
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (!thing->driver->things[i]) {
            thing->driver->things[i] = thing;
            thing->slot = i;
            return;
        }
    }
    abort();
}

static void print_failure(struct thing *thing, const struct error *err)
{
    print(json_pack("{s:s, s:o}", "id", thing->id, "error", error_object(err)));
    free_thing(thing);
}

static struct kube_resource resource_of(const json_t *command)
{
    return (struct kube_resource){
        doc_text_or(command, "group", ""),
        doc_text_or(command, "version", "v1"),
        doc_text_or(command, "plural", ""),
    };
}

static void on_called(void *data, json_t *object, const struct error *err)
{
    struct thing *thing = data;

    if (err->kind == ERROR_NONE && thing->is_quiet)
        print(json_pack("{s:s, s:b}", "id", thing->id, "ok", 1));
    else if (err->kind == ERROR_NONE)
        print(json_pack("{s:s, s:O}", "id", thing->id, "object", object));
    else
        print(json_pack("{s:s, s:o}", "id", thing->id, "error", error_object(err)));
    free_thing(thing);
}

static void do_call(struct driver *driver, const json_t *command)
{
    struct thing *thing = new_thing(driver, command);
    struct error err = {0};
    const struct kube_request request = {
        .verb = verb_of(doc_text_or(command, "verb", "")),
        .resource = resource_of(command),
        .namespace_name = doc_text(command, "namespace"),
        .name = doc_text(command, "name"),
        .subresource = doc_text(command, "subresource"),
        .body = doc_member(command, "body"),
        .label_selector = doc_text(command, "labelSelector"),
        .field_selector = doc_text(command, "fieldSelector"),
        .field_manager = doc_text(command, "fieldManager"),
        .query = doc_text(command, "query"),
        .grace_seconds = doc_integer_or(command, "grace", -1),
        .uid = doc_text(command, "uid"),
        .resource_version = doc_text(command, "resourceVersion"),
        .is_raw = doc_bool_or(command, "raw", false),
        .body_max = (size_t)doc_integer_or(command, "bodyMax", 0),
        .timeout_ms = (uint64_t)doc_integer_or(command, "timeoutMs", 0),
        .is_not_retried = doc_bool_or(command, "noRetry", false),
        .on_done = on_called,
        .data = thing,
    };

    if (kube_start(driver->kube, &request, NULL, &err) < 0)
        print_failure(thing, &err);
}

static void on_item(void *data, const json_t *object, const struct error *err)
{
    struct thing *thing = data;

    thing->count++;
    if (!thing->is_quiet || err)
        print(json_pack("{s:s, s:s, s:o}", "id", thing->id, "item",
                        doc_text_or(object, "metadata.name", ""), "error", error_object(err)));
}

static void on_listed(void *data, const char *resource_version, const struct error *err)
{
    struct thing *thing = data;

    print(json_pack("{s:s, s:i, s:s, s:o}", "id", thing->id, "listed", (int)thing->count,
                    "resourceVersion", resource_version ? resource_version : "", "error",
                    error_object(err)));
    free_thing(thing);
}

static void do_list(struct driver *driver, const json_t *command)
{
    struct thing *thing = new_thing(driver, command);
    struct kube_list *list = NULL;
    struct error err = {0};
    const struct kube_list_options options = {
        .resource = resource_of(command),
        .namespace_name = doc_text(command, "namespace"),
        .label_selector = doc_text(command, "labelSelector"),
        .field_selector = doc_text(command, "fieldSelector"),
        .is_metadata_only = doc_bool_or(command, "metadataOnly", false),
        .page_size = (size_t)doc_integer_or(command, "pageSize", 0),
        .on_item = on_item,
        .on_done = on_listed,
        .data = thing,
    };

    if (kube_list_start(driver->kube, &options, &list, &err) < 0)
        print_failure(thing, &err);
}

static void on_event(void *data, enum kube_event event, const json_t *object,
                     const struct error *err)
{
    static const char *const names[] = {
        [KUBE_EVENT_LISTED] = "LISTED",   [KUBE_EVENT_SYNCED] = "SYNCED",
        [KUBE_EVENT_ADDED] = "ADDED",     [KUBE_EVENT_MODIFIED] = "MODIFIED",
        [KUBE_EVENT_DELETED] = "DELETED", [KUBE_EVENT_BROKEN] = "BROKEN",
        [KUBE_EVENT_REWOUND] = "REWOUND",
    };
    struct thing *thing = data;

    if (event == KUBE_EVENT_LISTING)
        return;
    thing->count++;
    if (!thing->is_quiet || !object)
        print(json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "id", thing->id, "event", names[event],
                        "name", doc_text_or(object, "metadata.name", ""), "resourceVersion",
                        doc_text_or(object, "metadata.resourceVersion", ""), "count",
                        (int)thing->count, "error", error_object(err)));
}

static void do_watch(struct driver *driver, const json_t *command)
{
    struct thing *thing = new_thing(driver, command);
    struct error err = {0};
    const struct kube_watch_options options = {
        .resource = resource_of(command),
        .namespace_name = doc_text(command, "namespace"),
        .label_selector = doc_text(command, "labelSelector"),
        .field_selector = doc_text(command, "fieldSelector"),
        .is_watch_only = doc_bool_or(command, "watchOnly", false),
        .is_metadata_only = doc_bool_or(command, "metadataOnly", false),
        .page_size = (size_t)doc_integer_or(command, "pageSize", 0),
        .retry_max_ms = 1000,
        .on_event = on_event,
        .data = thing,
    };

    if (kube_watch_start(driver->kube, &options, &thing->watch, &err) < 0)
        print_failure(thing, &err);
    else
        keep_thing(thing);
}

static void on_leader(void *data, bool is_leader)
{
    struct thing *thing = data;

    print(json_pack("{s:s, s:b}", "id", thing->id, "leader", is_leader));
}

static void on_problem(void *data, const struct error *err)
{
    struct thing *thing = data;

    print(json_pack("{s:s, s:o}", "id", thing->id, "problem", error_object(err)));
}

static void do_lease(struct driver *driver, const json_t *command)
{
    struct thing *thing = new_thing(driver, command);
    struct error err = {0};
    const struct lease_options options = {
        .namespace_name = doc_text_or(command, "namespace", ""),
        .name = doc_text_or(command, "name", ""),
        .identity = doc_text_or(command, "identity", ""),
        .duration_ms = (uint32_t)doc_integer_or(command, "durationMs", 0),
        .renew_deadline_ms = (uint32_t)doc_integer_or(command, "renewDeadlineMs", 0),
        .retry_ms = (uint32_t)doc_integer_or(command, "retryMs", 0),
        .on_change = on_leader,
        .on_problem = on_problem,
        .data = thing,
    };

    if (lease_start(driver->kube, &options, &thing->lease, &err) < 0)
        print_failure(thing, &err);
    else
        keep_thing(thing);
}

static void end_thing(struct thing *thing)
{
    kube_watch_stop(thing->watch);
    lease_release(thing->lease, 5000);
    free_thing(thing);
}

static void do_stop(struct driver *driver, const char *id)
{
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (driver->things[i] && strcmp(driver->things[i]->id, id) == 0)
            end_thing(driver->things[i]);
    }
    print(json_pack("{s:s, s:b}", "id", id, "stopped", 1));
}

static long peak_kib(void)
{
    cleanup_file FILE *status = fopen("/proc/self/status", "re");
    char line[256];

    while (status && fgets(line, sizeof(line), status)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            return strtol(line + 6, NULL, 10);
    }
    return 0;
}

static void do_stats(struct driver *driver, const char *id)
{
    uint64_t connections = 0;
    uint64_t requests = 0;

    http_client_counts(driver->http, &connections, &requests);
    print(json_pack("{s:s, s:i, s:i, s:i}", "id", id, "connections", (int)connections, "requests",
                    (int)requests, "peakKib", (int)peak_kib()));
}

static void do_command(struct driver *driver, const char *text, size_t size)
{
    cleanup_json json_t *command = NULL;
    struct error err = {0};
    const char *word = NULL;

    if (doc_parse_json(text, size, COMMAND_MAX, &command, &err) < 0) {
        (void)fprintf(stderr, "command: %s\n", err.text);
        abort();
    }
    word = doc_text_or(command, "do", "");
    if (strcmp(word, "call") == 0)
        do_call(driver, command);
    else if (strcmp(word, "list") == 0)
        do_list(driver, command);
    else if (strcmp(word, "watch") == 0)
        do_watch(driver, command);
    else if (strcmp(word, "lease") == 0)
        do_lease(driver, command);
    else if (strcmp(word, "stop") == 0)
        do_stop(driver, doc_text_or(command, "id", ""));
    else if (strcmp(word, "stats") == 0)
        do_stats(driver, doc_text_or(command, "id", ""));
}

static void on_input(void *data, uint32_t events)
{
    struct driver *driver = data;
    char bytes[65536];
    ssize_t size = read(STDIN_FILENO, bytes, sizeof(bytes));
    struct error err = {0};
    const char *end = NULL;

    (void)events;
    if (size <= 0) {
        driver->is_over = true;
        loop_remove_fd(driver->loop, STDIN_FILENO);
        return;
    }
    if (buffer_append(&driver->input, bytes, (size_t)size, &err) < 0)
        abort();
    while ((end = memchr(driver->input.data, '\n', driver->input.size))) {
        size_t length = (size_t)(end - driver->input.data);

        do_command(driver, driver->input.data, length);
        buffer_consume(&driver->input, length + 1);
    }
}

static int load_config(int argc, char **argv, struct kube_config **ret_config, struct error *err)
{
    if (argc == 3 && strcmp(argv[1], "--kubeconfig") == 0)
        return kube_config_from_file(argv[2], ret_config, err);
    if (argc == 3 && strcmp(argv[1], "--in-cluster") == 0)
        return kube_config_in_cluster(argv[2], ret_config, err);
    return kube_config_default(NULL, ret_config, err);
}

static int run(int argc, char **argv, struct error *err)
{
    cleanup_loop struct loop *loop = NULL;
    cleanup_http_client struct http_client *http = NULL;
    cleanup_kube_config struct kube_config *config = NULL;
    cleanup_kube struct kube *kube = NULL;
    struct driver driver = {0};

    if (load_config(argc, argv, &config, err) < 0 || loop_new(clock_system(), &loop, err) < 0 ||
        http_client_new(loop, "longshore/" LONGSHORE_VERSION, &http, err) < 0 ||
        kube_new(loop, http, config, &kube, err) < 0)
        return -1;
    config = NULL;
    driver.loop = loop;
    driver.http = http;
    driver.kube = kube;
    buffer_init(&driver.input, COMMAND_MAX);
    if (loop_set_fd(loop, STDIN_FILENO, EPOLLIN, on_input, &driver, err) < 0)
        return -1;
    while (!driver.is_over) {
        if (loop_run_once(loop, -1, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < THINGS_MAX; i++) {
        if (driver.things[i])
            end_thing(driver.things[i]);
    }
    buffer_done(&driver.input);
    return 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};

    (void)signal(SIGPIPE, SIG_IGN);
    doc_setup();
    if (run(argc, argv, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
