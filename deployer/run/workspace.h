/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of one item on this machine. Its lock is what the fixed pod name is in a cluster:
 * one run at a time.
 *
 *     lock
 *     state/<sequence>-<uuid>-<number>/{config,metadata.json}   chunks, as common/state/restore.h
 * reads them run/            of the run under way, or left behind by one that was killed: the next
 * one removes it ls/           what the pod has at /data/ls sink/         what wait delivers
 *       bundle/ upper/ work/ root/   for the OCI runtime
 */
#pragma once

#include "common/base/error.h"
#include "common/state/generation.h"

struct workspace;

/* Makes what is missing and takes the lock; ERROR_CONFLICT if another run of this item is under
 * way. What a killed run had already delivered is taken in, the rest of it removed. path NULL:
 * below $XDG_STATE_HOME, by namespace and name. */
int workspace_open(const char *path, const char *namespace_name, const char *name,
                   struct workspace **ret_workspace, struct error *err) must_check;
void workspace_close(struct workspace *workspace, bool is_run_kept);

const char *workspace_path(const struct workspace *workspace);
const char *workspace_run_path(const struct workspace *workspace);
int workspace_state_fd(const struct workspace *workspace);

/* Fresh run/ with its folders. */
int workspace_begin(struct workspace *workspace, struct error *err) must_check;
/* Takes the generations in that wait delivered (whole ones only), then removes all but the newest
 * keep. */
int workspace_adopt(struct workspace *workspace, size_t keep, struct error *err) must_check;
/* Removes all state: what a successful DELETE does. */
int workspace_forget(struct workspace *workspace, struct error *err) must_check;
/* Bytes and chunks of the newest whole generation. */
int workspace_state_size(struct workspace *workspace, uint64_t *ret_bytes, struct error *err)
    must_check;
