/* SPDX-License-Identifier: Apache-2.0 */
/* Patches that are merged into applied objects after everything else succeeded: GET, merge, PUT,
 * with the resourceVersion as precondition; a conflict is retried. Each is done once: the hash of a
 * patch that was done is recorded in the inventory entry by the caller. */
#pragma once

#include "common/apply/plan.h"

struct late_patch_options {
    struct cluster *cluster;
    const struct plan *plan; /* borrowed until on_done */
    const bool *is_wanted;   /* parallel to plan->objects: patch these */
    const char *field_manager;
    kube_may_send_fn *may_send;
    const void *may_send_data;
    /* err->kind is ERROR_NONE if all were patched; else it names the first object that failed. */
    void (*on_done)(void *data, const struct error *err);
    void *data;
};

struct late_patch;
int late_patch_start(const struct late_patch_options *options, struct late_patch **ret_patch,
                     struct error *err) must_check;
void late_patch_cancel(struct late_patch *patch); /* NULL is fine */
/* 16 hex characters that identify the content of a patch. Belongs to the caller. */
char *late_patch_hash(const json_t *patch);
