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
/* Every container has ended. The kubelet takes a second or two more to set the pod's phase. */
bool pod_has_stopped(const json_t *pod);
/* A deletion would have an effect: the pod is not being deleted, or its containers have ended
 * before its grace period, and grace period 0 removes it before the kubelet has unmounted its
 * volumes. */
bool pod_can_be_deleted(const json_t *pod);
