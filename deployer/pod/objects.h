/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about pods, and about the item that an object of the host cluster was made for. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The item that an object was made for. Our objects have its full names as annotations, those of
 * the Go deployer as labels. False if the object names no item. *ret_* are borrowed from the
 * object. */
bool object_item(const json_t *object, const char **ret_namespace, const char **ret_name);

/* Nothing in the pod can run any more. */
bool pod_is_over(const json_t *pod);
/* Its wait container has ended: no state or export will be saved any more. */
bool pod_wait_has_ended(const json_t *pod);
/* The grace period with which to end a pod that runs; -1: that of the pod's spec. chunks: of the
 * item's last state; SIZE_MAX: unknown.
 *
 * Containers of a pod have no grace periods of their own: a main that ignores SIGTERM runs as long
 * as wait may take to save the state. A kubelet that is ending a pod neither reports that wait has
 * ended nor accepts a shorter grace period (SyncTerminatingPod, Kubernetes 1.34). So the pod is
 * deleted with main's grace period and a time for the save that depends on the size of the last
 * state, rather than with the spec's, which has room for every state. wait takes a snapshot of the
 * state in main's time, so that a state that has become much larger is not lost either. */
int64_t pod_end_seconds(const json_t *pod, size_t chunks);
/* Every container has ended. The kubelet takes a second or two more to set the pod's phase. */
bool pod_has_stopped(const json_t *pod);
