/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the controller share. One thread, one event loop: nothing is locked. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "common/net/http.h"
#include "deployer/config/config.h"
#include "deployer/engine.h"
#include "deployer/protocol/index.h"
#include "deployer/protocol/queue.h"
#include "deployer/serve/metrics.h"

#define CONTROLLER_FIELD_MANAGER "longshore"
#define CONTROLLER_USER_AGENT "longshore/" LONGSHORE_VERSION

enum {
    /* Tasks with a chain of requests under way; the others queue. Each holds everything that its
     * execution is made from, and switching between many costs more than the work itself: no more
     * are started than keep the servers busy. Tasks whose request waits for a retry do not count.
     */
    CONTROLLER_AWAKE_MAX = 24,
    CONTROLLER_RUNNING_MAX = 256,
    CONTROLLER_LOOK_AGAIN_MS = 1000,
    CONTROLLER_LIST_PAGE = 200, /* bounds the memory of the first list */
    CONTROLLER_REPORT_EVERY_MS = 5 * 1000,
    CONTROLLER_RETRY_FIRST_MS = 1000,
    CONTROLLER_RETRY_MAX_MS = 15 * 60 * 1000,
    CONTROLLER_LOCK_RETRY_MS = 60 * 1000,
    CONTROLLER_ENGINES_MAX = 4,
};

struct election;
struct item;

/* Who wants to know every version of every item of ours, and which are gone: the status page. */
struct item_listener {
    void (*seen)(void *data, const struct item *item);
    void (*gone)(void *data, const char *namespace_name, const char *name);
    void *data;
};

/* The watch on the DeployItems of one namespace, or of all. */
struct item_source {
    struct controller *controller;
    const char *namespace_name; /* NULL: all */
    struct kube_watch *watch;
    uint32_t epoch; /* number of the list that is or was last read */
    bool is_synced;
};

struct controller {
    struct loop *loop;
    struct http_client *http;
    struct kube *landscaper; /* DeployItems, Targets, Contexts, exports */
    struct kube *host;       /* the same client if both are one cluster */
    const struct deployer_config *config;
    bool has_selector;
    char *identity; /* of status.deployer */
    const char *pod_name, *pod_namespace;

    bool is_electing; /* only the holder of a Lease may write */
    bool is_locking;  /* items are locked with SyncObjects */
    struct election *election;

    struct item_source *sources;
    size_t source_count;
    bool is_items_synced; /* of all sources */

    struct engine *engines[CONTROLLER_ENGINES_MAX];
    uint8_t engine_count;

    struct index *index;
    struct task_queue queue;
    size_t running, task_count;
    size_t unknown_owner_items; /* items whose Target cannot be read, so they may not be ours */
    bool is_draining;
    struct loop_timer pump_timer;

    struct metrics metrics;
    const struct item_listener *listener; /* or NULL */
};

int64_t controller_now_unix_ms(const struct controller *controller);
/* Whether this process may change anything now: asked before every single write. */
bool controller_may_write(const struct controller *controller);
/* The same, for kube_request.may_send with the controller as its data: a write that waits in the
 * request queue or is retried may have outlived the lease. */
bool controller_may_send(const void *data);
/* Starts an engine and adds it to the controller. */
int controller_add_engine(struct controller *controller, const struct engine_class *class,
                          struct error *err) must_check;
/* The engine for items of this type; NULL: none. */
struct engine *controller_engine_for(const struct controller *controller, const char *type);
/* All engines know all executions. */
bool controller_is_synced(const struct controller *controller);
/* Runs what is queued, later, from the loop. */
void controller_pump(struct controller *controller);
void controller_on_pump(void *data); /* the timer's callback */
/* Tells the engines that another process may lead now. */
void controller_lead_lost(struct controller *controller);
/* Looks at every record again: after a change of leadership, after a list. */
void controller_touch_all(struct controller *controller);
