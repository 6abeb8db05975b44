/* SPDX-License-Identifier: Apache-2.0 */
/* Which clusters this process is responsible for.
 *
 * Either the leader has all of them, or replicas share them by buckets (common/kube/shards.h): a
 * cluster belongs to the bucket of its Kyma's name. Requests that write carry kyma_may_send(),
 * which is asked when they are sent, so a process that was stopped for some time sends nothing
 * before it has noticed that it is no longer responsible.
 *
 * Replicas that share hold the Lease of the leader together, under one name: a leader that has all
 * clusters, or the original, never works beside them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct kyma;
struct lifecycle;
struct sharing;

/* Starts the election, or both elections. */
int sharing_start(struct lifecycle *lifecycle, struct error *err) must_check;
/* Hands the clusters over that are shared; runs the loop until requests under way have ended, for a
 * few seconds. */
void sharing_hand_over(struct lifecycle *lifecycle);
/* Ends the election when no cluster is known any more. */
void sharing_stop(struct lifecycle *lifecycle);

/* A cluster became known, or is forgotten. */
void sharing_add(struct kyma *kyma);
void sharing_remove(struct kyma *kyma);

/* Whether this process is responsible for the cluster. */
bool sharing_has(const struct kyma *kyma);
/* The same as kube_may_send_fn; data is the struct kyma. */
bool kyma_may_send(const void *data);
/* Likewise for what belongs to no cluster; data is the struct lifecycle. */
bool lifecycle_may_send(const void *data);

/* For metrics: how many buckets there are, and how many of them this process has. */
size_t sharing_bucket_count(const struct lifecycle *lifecycle);
size_t sharing_held_count(const struct lifecycle *lifecycle);
