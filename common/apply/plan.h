/* SPDX-License-Identifier: Apache-2.0 */
/* What is going to be applied, checked completely before the first write. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "common/apply/cluster.h"
#include "common/apply/inventory.h"

enum { PLAN_OBJECTS_MAX = 10000 };

/* One object as the user gave it. All members are borrowed until plan_start() returns. */
struct plan_input {
    const json_t *manifest; /* one object, or a list object with "items" */
    enum apply_policy policy;
    const json_t *annotate_before_create, *annotate_before_delete;
    const json_t *patch_after, *patch_before_delete;
    const char *source; /* for messages: "manifests[3].manifest" */
};

enum plan_group { PLAN_CRDS, PLAN_CLUSTER_SCOPED, PLAN_NAMESPACED, PLAN_GROUPS };

struct plan_object {
    json_t *manifest;
    struct object_ref ref;
    struct kind kind; /* owns its strings */
    enum plan_group group;
    enum apply_policy policy;
    json_t *annotate_before_create, *annotate_before_delete, *patch_after, *patch_before_delete;
    char *source;
};

struct plan {
    struct plan_object
        *objects; /* by group, otherwise in the order of the input; without ignored */
    size_t count;
    struct object_ref
        *ignored; /* POLICY_IGNORE: recorded entries of these are dropped, not removed */
    size_t ignored_count;
};

void plan_free(struct plan *plan); /* NULL is fine */

/* Expands lists (one level) and checks each object without asking a server: it is an object, has
 * apiVersion, kind and metadata.name, no nested list, the same object does not occur twice. A
 * manifest with "items" is a list if it has no kind or one that ends in "List". Every problem is
 * passed to on_problem with the field it concerns. Returns the number of problems. */
typedef void plan_problem_fn(void *data, const char *field, const char *message);
size_t plan_check(const struct plan_input *inputs, size_t count, plan_problem_fn *on_problem,
                  void *data);

struct planning;
/* plan belongs to the callee; NULL after an error. ERROR_INVALID: what plan_check() finds, or an
 * object cannot be applied (namespaced without a namespace), all problems in one message;
 * ERROR_NOT_FOUND: kinds are unknown (they may appear later); other kinds: discovery failed. */
typedef void plan_done_fn(void *data, struct plan *plan, const struct error *err);
/* Finds the kinds and makes the plan. The namespace of a cluster-scoped object is dropped, as the
 * API server does. Calls on_done exactly once, possibly before it returns (then *ret_planning is
 * NULL). Does not fail otherwise. */
int plan_start(struct cluster *cluster, const struct plan_input *inputs, size_t count,
               plan_done_fn *on_done, void *data, struct planning **ret_planning, struct error *err)
    must_check;
void planning_cancel(struct planning *planning); /* NULL is fine */

/* What has to be recorded before the plan is applied: before and the objects of the plan, those
 * without uid, and new, that were not recorded yet. Entries of ignored objects are dropped. */
struct inventory plan_record(const struct plan *plan, const struct inventory *before);
