/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Targets in the item's namespace and connects to their clusters, one after the other, as a
 * part of a chain of requests. Requests go to Landscaper's API server only. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/apply/cluster.h"
#include "deployer/protocol/task.h"

/* Each of these goes on with the chain, or ends it. */
struct targets_handler {
    /* The cluster of a Target; the reference is given to the handler. The only one after which the
     * chain goes on by itself. */
    void (*on_cluster)(struct task *task, const char *name, struct cluster *cluster);
    void (*on_done)(struct task *task); /* all of them are connected */
    /* err names the Target; code may be NULL. */
    void (*on_failed)(struct task *task, const char *reason, const struct error *err,
                      const char *code);
};

/* reason: the target selector of the deployer does not match the first Target, which is the item's
 * own. */
#define TARGETS_NOT_OURS "NotOurs"

struct targets;
/* The engine's data of the task has what is under way, until the chain is over. names (taken over)
 * is an array of strings; an empty one is done at once. */
void targets_read(struct task *task, json_t *names, const struct targets_handler *handler);
/* The same if the content of the first one is known already. */
void targets_read_after(struct task *task, json_t *names, const char *content, size_t size,
                        const struct targets_handler *handler);
/* After on_done: a client configuration of the last Target, for a program that may run for left_ms
 * (-1: without a limit). If the Target needs a token, one is requested that lives as long as the
 * program may run: the tokens of the controller live longer, and nobody else gets this one. Goes on
 * with on_config, which takes the configuration over, or with on_failed. */
typedef void targets_config_fn(struct task *task, struct kube_config *config);
void targets_make_config(struct task *task, int64_t left_ms, targets_config_fn *on_config);
void targets_free(struct targets *targets); /* NULL is fine */
