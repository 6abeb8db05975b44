/* SPDX-License-Identifier: Apache-2.0 */
/* Patches that are merged into applied objects after everything else succeeded: GET, merge (as
 * STRATEGY_MERGE_OVERWRITE does), PUT with the resourceVersion as precondition; a conflict is
 * retried a few times. An object that is as patched already is not written. */
#pragma once

#include "common/apply/plan.h"

struct late_patch_options {
    struct cluster *cluster;
    const struct plan *plan; /* borrowed until on_done */
    const bool *is_wanted;   /* parallel to plan->objects: patch these, if they have a patch */
    const char *field_manager;
    kube_may_send_fn *may_send;
    const void *may_send_data;
    /* err->kind is ERROR_NONE if all were patched; else it names the first object that failed. The
     * others were patched or failed as well. */
    void (*on_done)(void *data, const struct error *err);
    void *data;
};

struct late_patch;
/* on_done is called once, from the loop, unless cancelled before; the late patch is freed then.
 * ERROR_INTERNAL: the field manager is missing. */
int late_patch_start(const struct late_patch_options *options, struct late_patch **ret_patch,
                     struct error *err) must_check;
void late_patch_cancel(struct late_patch *patch); /* NULL is fine; not after on_done */
/* The object that it waits for, for people; NULL: none. Belongs to the caller. */
char *late_patch_describe(const struct late_patch *patch);
