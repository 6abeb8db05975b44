/* SPDX-License-Identifier: Apache-2.0 */
/* Helm items in the pod engine. The pod renders the chart, or installs a release; before it is
 * made, the target is asked for what helm's command line depends on (helm_start.c). After it has
 * ended, the execution goes on inside the controller (helm_finish.c): rendered objects are applied
 * by deployer/objects, and a release is looked up. The deletion of rendered objects needs no pod.
 */
#pragma once

#include "deployer/objects/run.h"
#include "deployer/pod/engine.h"

/* What a chain of a helm item needs. */
struct helm_chain {
    struct cluster *cluster; /* of the target: a reference */
    struct helm_situation *situation;
    char *kube_version;
    json_t *api_versions;
    json_t *repositories;   /* entries of the Context whose credentials are read, one by one */
    size_t repository_next; /* of them */
    struct rendered *rendered;
};
void helm_chain_free(struct helm_chain *chain); /* NULL is fine */

/* Whether the task's item is a helm item. */
bool helm_is_item(const struct task *task);
/* Whether the job deletes objects that were applied, so that there is no pod. */
bool helm_is_removal(const struct task *task);
/* Before the configuration of the item is parsed for a pod: whether it can follow on what was
 * deployed before. A deletion uninstalls the release that was deployed, whatever the configuration
 * says now; it replaces the configuration. True for other items. */
bool helm_check_item(struct task *task, struct error *err);
/* Whether the execution goes on after its pod has succeeded. */
bool helm_has_finish(const struct task *task);

/* helm_start.c: everything else that the pod is made from is read. Ends with pod_make_objects(). */
void helm_prepare(struct task *task);
/* Starts the deletion of applied objects. */
void helm_start_removal(struct task *task);

/* Lists the release Secrets of the item in the target. */
void helm_list_releases(struct task *task, struct cluster *cluster, bool is_deployed_only,
                        task_next_fn *next);

/* helm_finish.c */
void helm_observe(struct task *task, struct execution *execution);
void helm_step(struct task *task);
void helm_complete(struct task *task);
/* Replaces status.providerStatus, which is that of the pod, or of the objects. */
void helm_report(struct task *task, enum report_kind kind, json_t *status, json_t *of_pod);
