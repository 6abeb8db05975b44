/* SPDX-License-Identifier: Apache-2.0 */
/* What several parts read off an object of the API. Pure; results are borrowed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

const char *object_annotation(const json_t *object, const char *key); /* NULL if there is none */
const char *object_label(const json_t *object, const char *key);
/* The resourceVersion as a number. Opaque in theory; every API server counts. */
uint64_t object_version(const json_t *object);
bool object_has_finalizer(const json_t *object, const char *finalizer);
/* The finalizers but for this one. New reference. */
json_t *object_other_finalizers(const json_t *object, const char *finalizer);

/* The item that an object was made for: full names are annotations on what is ours, labels on what
 * is the Go deployer's. False if it does not say. */
bool object_item(const json_t *object, const char **ret_namespace, const char **ret_name);

/* Nothing in the pod can run any more. */
bool pod_is_over(const json_t *pod);
/* Every container has ended; its kubelet takes a second or two more to say so of the pod. */
bool pod_has_stopped(const json_t *pod);
