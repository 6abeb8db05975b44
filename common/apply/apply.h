/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a plan to a cluster: CRDs first (until they are established), then cluster-scoped, then
 * namespaced objects; within a group in parallel, with a limit. An object that fails does not stop
 * the others. The caller has recorded the plan (plan_record()) before. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/apply/merge.h"
#include "common/apply/plan.h"

enum { APPLY_PARALLEL_MAX = 16 };

struct apply_result;

struct apply_options {
    struct cluster *cluster;
    const struct plan *plan;          /* borrowed until on_done or apply_cancel() */
    const struct inventory *recorded; /* borrowed likewise: what plan_record() returned */
    enum update_strategy strategy;
    struct apply_owner owner;   /* strings borrowed likewise */
    const char *field_manager;  /* of every write; required */
    kube_may_send_fn *may_send; /* as in struct kube_request */
    const void *may_send_data;
    void (*on_done)(void *data, struct apply_result *result); /* result belongs to the callee */
    void *data;
};

enum apply_outcome {
    APPLY_CREATED,
    APPLY_CHANGED,
    APPLY_UNCHANGED,
    APPLY_LEFT_ALONE, /* by its policy */
    APPLY_FAILED,
};

struct apply_object_result {
    enum apply_outcome outcome;
    json_t *object;     /* as the server returned it; NULL after a failure */
    struct error error; /* of APPLY_FAILED; names the object and has the server's message */
};

struct apply_result {
    struct apply_object_result *objects; /* parallel to plan->objects */
    size_t count;
    size_t failed;
    /* The recorded entries with the uids of what was applied, without objects that POLICY_FALLBACK
     * left alone. Entries that left the plan are still in it. */
    struct inventory inventory;
};

void apply_result_free(struct apply_result *result); /* NULL is fine */
/* All failures in one message: "ConfigMap ns/a: ...; Secret ns/b: ..." (bounded). The kind is
 * ERROR_DENIED if all failed so, ERROR_TEMPORARY if one may succeed later, else ERROR_INVALID. */
void apply_result_error(const struct apply_result *result, struct error *ret_error);

struct apply;
int apply_start(const struct apply_options *options, struct apply **ret_apply, struct error *err)
    must_check;
/* Requests that were sent may still take effect. NULL is fine. */
void apply_cancel(struct apply *apply);
/* What it is waiting for, for people; NULL: nothing in particular. Belongs to the caller. */
char *apply_describe(const struct apply *apply);
