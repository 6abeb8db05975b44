/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the controller share. One thread, one loop: no locks. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/loop.h"
#include "common/kube/client.h"
#include "common/kube/lease.h"
#include "common/kube/watch.h"
#include "common/net/http.h"
#include "deployer/config/config.h"
#include "deployer/controller/index.h"
#include "deployer/controller/metrics.h"
#include "deployer/controller/queue.h"

#define CONTROLLER_FIELD_MANAGER "longshore"

enum {
    /* Items at work; the others queue. Each holds all that its pod is made from, and to go back and
     * forth between many costs more than the work itself: no more are begun than keep the servers
     * busy. One whose request waits for its next try is in nobody's way. */
    CONTROLLER_AWAKE_MAX = 24,
    CONTROLLER_RUNNING_MAX = 256,
    CONTROLLER_LOOK_AGAIN_MS = 1000,
    CONTROLLER_LIST_PAGE = 200, /* bounds the memory of the first list */
    CONTROLLER_REPORT_EVERY_MS = 5 * 1000,
    CONTROLLER_RETRY_FIRST_MS = 1000,
    CONTROLLER_RETRY_MAX_MS = 15 * 60 * 1000,
    CONTROLLER_LOCK_RETRY_MS = 60 * 1000,
};

struct docker_files;
struct gc;

struct controller {
    struct loop *loop;
    struct http_client *http;
    struct kube *landscaper; /* DeployItems, Targets, Contexts, exports */
    struct kube *host;       /* pods; the same client where both are one cluster */
    const struct deployer_config *config;
    bool has_selector;
    char *identity; /* of status.deployer */
    const char *pod_name, *pod_namespace;
    struct docker_files *docker_files; /* of Configuration.oci.configFiles */

    struct lease *lease; /* NULL: no election */
    struct kube_watch *item_watch, *pod_watch;
    bool is_items_synced, is_pods_synced;
    uint32_t item_epoch, pod_epoch;

    struct index *index;
    struct task_queue queue;
    size_t running, open_jobs;
    size_t held_items; /* of which nobody knows whose they are */
    bool is_draining;
    struct loop_timer pump_timer;

    struct gc *gc;
    struct metrics metrics;
};

int64_t controller_now_unix_ms(const struct controller *controller);
/* Whether this process may change anything now: asked before every single write. */
bool controller_may_write(const struct controller *controller);
/* The same, for kube_request.may_send with the controller as its data: a write that waits in line
 * or is sent again may have outlived the lease. */
bool controller_may_send(const void *data);
/* The operator's registry credentials as they are now, an array of docker configs that belongs to
 * the caller; what can't be used is logged. */
json_t *controller_docker_configs(struct controller *controller);
/* Runs what is queued, later, from the loop. */
void controller_pump(struct controller *controller);
void controller_on_pump(void *data); /* the timer's callback */
/* Looks at every record again: after a change of leadership, after the pods were listed. */
void controller_touch_all(struct controller *controller);
