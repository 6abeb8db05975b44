/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for tests of common/apply: a cluster whose API server is part of the test. It stores
 * objects, has versions, uids, preconditions, finalizers, lists and watches, and fails on request.
 * CRDs get established only if the test says so. */
#pragma once

#include <jansson.h>

#include "common/apply/cluster.h"
#include "common/net/tests/loopback.h"

enum { API_RULES_MAX = 16, API_WATCHERS_MAX = 300 };

/* Requests whose first line contains match. */
struct api_rule {
    char *match;   /* "POST /api/v1/namespaces/a/configmaps" */
    int count;     /* how many of them are answered so; negative: all */
    char *status;  /* "500 Oh"; NULL: no answer, or, if it is late, a closed connection */
    char *message; /* Status.message */
    bool is_late;  /* the request takes effect, and only the answer is replaced */
};

struct api_watcher {
    struct loopback_connection *connection;
    char *collection, *name, *label; /* NULL: any */
};

struct api_bench {
    struct loop *loop;
    struct clock_fake clock; /* drives the loop after api_bench_setup_fake() */
    struct loopback server;
    struct cluster_pool *pool;
    struct cluster *cluster;
    json_t *objects; /* by path */
    json_t *history; /* all events */
    uint64_t version, uid;
    bool are_namespaces_checked; /* creating something needs its Namespace */
    bool is_establishing;        /* new CRDs are established at once */
    struct api_rule rules[API_RULES_MAX];
    size_t rule_count;
    struct api_watcher watchers[API_WATCHERS_MAX];
    size_t watcher_count;
    bool is_holding; /* the next answer to anything but a watch is kept until api_bench_release() */
    size_t held_count;
    struct loopback_connection *held_connection;
    json_t *held_answer;
    struct loopback_connection *connection; /* of the request that is handled */
    json_t *answer;
    const char *answer_status;
    size_t mark; /* of api_bench_log() */
    char *log;
    /* Called after each request was handled, with "METHOD /path". */
    void (*on_request)(void *data, const char *line);
    void *data;
};

int api_bench_setup(void **state);
int api_bench_setup_fake(void **state); /* the clock moves only when the test moves it */
int api_bench_teardown(void **state);
/* A new configuration for the server. */
struct kube_config *api_bench_config(const struct api_bench *bench);

/* Runs the loop until *is_done, or fails the test. */
void api_bench_run(struct api_bench *bench, const bool *is_done);
void api_bench_run_once(struct api_bench *bench);
void api_bench_run_idle(struct api_bench *bench); /* until nothing happens any more */

/* Stores an object of this path, as another client would: {"spec": ...}. apiVersion, kind, name and
 * namespace are added. Returns the object, borrowed. */
json_t *api_bench_put(struct api_bench *bench, const char *path, const char *json);
json_t *api_bench_get(struct api_bench *bench, const char *path); /* borrowed, or NULL */
/* Gives it a new version, after the test has changed it. */
void api_bench_touch(struct api_bench *bench, const char *path);
/* Removes it at once, whatever its finalizers are. */
void api_bench_remove(struct api_bench *bench, const char *path);
/* Sends the events of history from this index on to all watches, again. */
void api_bench_replay(struct api_bench *bench, size_t from);
void api_bench_release(struct api_bench *bench);
void api_bench_establish(struct api_bench *bench, const char *crd_name);

struct api_rule *api_bench_rule(struct api_bench *bench, const char *match, int count,
                                const char *status, const char *message);
/* The requests since the last call: "GET /path; POST /path", watches as "WATCH /path", with the
 * name in brackets if there is a field selector. Borrowed until the next call. */
const char *api_bench_log(struct api_bench *bench);
/* Forgets all requests: their number is limited. */
void api_bench_forget_requests(struct api_bench *bench);
/* How many of all requests contain this text in their first line. */
size_t api_bench_count(const struct api_bench *bench, const char *text);
