/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a plan to a cluster: CRDs first (until they are established), then cluster-scoped, then
 * namespaced objects; within a group in parallel, with a limit. An object that fails does not stop
 * the others. The caller has recorded the plan (plan_record()) before.
 *
 * An object whose recorded entry has no uid is created; if it exists, or has a uid, it is read and
 * changed if needed. If two or more objects of a kind and namespace have a uid, one list with the
 * owner's label reads them, and what it does not return is read by name. A change that meets a
 * conflict is repeated with the new state, a few times. With STRATEGY_APPLY an object without uid
 * is applied at once. */
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
    struct apply_owner owner;  /* strings borrowed likewise */
    const char *field_manager; /* of every write; required */
    /* STRATEGY_APPLY: managers whose fields become ours, with those that field_manager wrote by
     * other strategies, so that what leaves the manifest leaves the object. Terminated by NULL;
     * NULL: none. */
    const char *const *former_managers;
    /* The server checks every request and stores nothing. Late patches are included. */
    bool is_dry_run;
    kube_may_send_fn *may_send; /* as in struct kube_request */
    const void *may_send_data;
    void (*on_done)(void *data, struct apply_result *result); /* result belongs to the callee */
    void *data;
};

enum apply_outcome {
    APPLY_CREATED,
    APPLY_CHANGED, /* or perhaps not: the response to a server-side apply does not always show it */
    APPLY_UNCHANGED,
    APPLY_LEFT_ALONE, /* by its policy */
    APPLY_FAILED,
};

/* "created", "leftAlone", ...: for documents. */
const char *apply_outcome_name(enum apply_outcome outcome);

struct apply_object_result {
    enum apply_outcome outcome;
    json_t *object; /* as the server returned it, without managedFields; NULL after a failure */
    json_t *before; /* of a dry run: as it was; NULL: it did not exist */
    /* Of a dry run: the server has not checked the object, because its namespace or kind does not
     * exist before the plan is applied; object is what would be sent. */
    bool is_unchecked;
    /* Of a dry run with STRATEGY_APPLY: fields that other managers wrote become ours first, and
     * those that are not in the manifest are removed then, which the dry run does not show. */
    bool is_taken_over;
    /* Of APPLY_FAILED; names the object and has the server's message, without the values of a
     * Secret. */
    struct error error;
};

struct apply_result {
    struct apply_object_result *objects; /* parallel to plan->objects */
    size_t count;
    size_t failed;
    /* Some of them are gone, and their entries have lost their uids: once the inventory is stored,
     * apply again. */
    bool is_record_needed;
    /* The recorded entries with the uids of what was applied, without objects that POLICY_FALLBACK
     * left alone. Entries that left the plan are still in it. An entry that was new still is if
     * the server refused for good to create its object, or nothing was sent. */
    struct inventory inventory;
};

void apply_result_free(struct apply_result *result); /* NULL is fine */
/* All failures in one message: "ConfigMap ns/a: ...; Secret ns/b: ..." (bounded). The kind is
 * ERROR_DENIED if all failed so, ERROR_TEMPORARY if one may succeed later, else ERROR_INVALID.
 * http_status is set if it is the same for all, retry_after_ms is the longest. */
void apply_result_error(const struct apply_result *result, struct error *ret_error);

struct apply;
/* on_done is called once, from the loop, unless cancelled before; the apply is freed then.
 * ERROR_INTERNAL: the field manager is missing. */
int apply_start(const struct apply_options *options, struct apply **ret_apply, struct error *err)
    must_check;
/* Requests that were sent may still take effect. NULL is fine; not after on_done. */
void apply_cancel(struct apply *apply);
/* What it is waiting for, for people; NULL: nothing in particular. Belongs to the caller. */
char *apply_describe(const struct apply *apply);
