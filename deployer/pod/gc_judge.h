/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of the garbage collector. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "deployer/config/config.h"
#include "deployer/pod/gone.h"
#include "deployer/pod/pods.h"

enum gc_pod {
    GC_POD_KEEP,
    GC_POD_ASK,    /* remove it if its item is gone */
    GC_POD_REMOVE, /* finished and not needed any more */
};

/* Whether an object of an item that does not exist may be checked: it has our identity or label, or
 * it has neither and this process has seen the item. */
bool gc_is_ours(const struct deployer_config *config, const struct gone_list *gone,
                const json_t *object, const char *namespace_name, const char *name);

/* is_ours: the pod of an unknown item can't belong to another Landscaper. */
enum gc_pod gc_judge_pod(const struct record *record, const struct pod_entry *entry, bool is_ours,
                         bool is_pod_kept);

/* Whether a response to a GET of the DeployItem of this name is the API server's own statement that
 * it does not exist. A 404 of a proxy, or of a server without the CustomResourceDefinition, is not.
 */
bool gc_is_item_gone(const char *name, const struct error *err);

/* Whether object is an input of a run that was created before that time, of an item without a run.
 */
bool gc_is_old_input(const json_t *object, const struct record *record, int64_t before_unix_ms);
