/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of apply: plans a few manifests, records and applies them, and compares. */
#pragma once

#include "common/apply/apply.h"
#include "common/apply/tests/api_bench.h"

#define MAPS "/api/v1/namespaces/a/configmaps"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
/* ' stands for " */
#define MAP(name_, rest_)                                                                          \
    "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': '" name_                       \
    "', 'namespace': 'a'}" rest_ "}"
#define BOAT_CRD                                                                                   \
    "{'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', "               \
    "'metadata': {'name': 'boats.x.example.com'}, 'spec': {'group': 'x.example.com', 'scope': "    \
    "'Namespaced', 'names': {'kind': 'Boat', 'plural': 'boats'}, 'versions': [{'name': 'v1', "     \
    "'served': true}]}}"
#define BOAT                                                                                       \
    "{'apiVersion': 'x.example.com/v1', 'kind': 'Boat', 'metadata': {'name': 'b', 'namespace': "   \
    "'a'}}"

enum { RUN_INPUTS_MAX = 64 };

extern const struct apply_owner OUR_OWNER, OTHER_OWNER;

/* One item: what it is made of and what it remembers. */
struct apply_run {
    struct api_bench *bench;
    enum update_strategy strategy;
    struct plan_input inputs[RUN_INPUTS_MAX];
    size_t input_count;
    const char *const *former_managers;
    bool is_dry_run;
    kube_may_send_fn *may_send;
    struct inventory inventory; /* as it is stored */
    struct plan *plan;
    struct apply *apply; /* while it runs */
    struct apply_result *result;
    bool is_done;
    int done_count;
};

void apply_run_init(struct apply_run *run, struct api_bench *bench, enum update_strategy strategy);
void apply_run_done(struct apply_run *run);
/* The input may be changed before the start. Borrowed. */
struct plan_input *apply_run_add(struct apply_run *run, const char *manifest,
                                 enum apply_policy policy);
/* ConfigMaps n0, n1 ... with this patchAfterDeployment, or NULL. */
void apply_run_add_many(struct apply_run *run, int count, const char *patch_after);
void apply_run_clear_inputs(struct apply_run *run);
/* Plans, records and starts. */
void apply_run_start(struct apply_run *run);
/* The same and runs until it is done, then stores the inventory; again if objects were gone. */
void apply_run_all(struct apply_run *run);
/* "created changed unchanged left failed", in the order of the plan. Static. */
const char *apply_run_outcomes(const struct apply_run *run);
/* The message of all failures, or "". Static. */
const char *apply_run_error(const struct apply_run *run, enum error_kind *ret_kind);
/* The uid that is stored for an object of the plan, or NULL. */
const char *apply_run_uid(const struct apply_run *run, size_t i);
