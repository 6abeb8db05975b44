/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of one item on this machine:
 *
 *     lock             held by the run in progress: one run at a time
 *     origin           path of the file whose item was run last
 *     state/<sequence>-<uuid>-<number>/{config,metadata.json}
 *                      chunks of the state, in the form that common/state/restore.h reads
 *     objects-<hash>.json
 *                      of a manifest item: what was applied to a cluster (object_list.h)
 *     run/             files of the run in progress, or of one that was killed
 *       ls/            what the pod has at /data/ls
 *       sink/          what wait delivers
 *       bundle/ upper/ work/ root/ runtime/    for the OCI runtime
 */
#pragma once

#include "common/base/error.h"
#include "common/state/generation.h"

struct workspace;

/* Creates what is missing, takes the lock (ERROR_CONFLICT if another run holds it) and adopts the
 * state that a killed run had delivered. path NULL: a directory below $XDG_STATE_HOME, by namespace
 * and name. *ret_workspace is to be closed by the caller. */
int workspace_open(const char *path, const char *namespace_name, const char *name,
                   struct workspace **ret_workspace, struct error *err) must_check;
/* The directory below $XDG_STATE_HOME that is used without a path. The caller frees it. */
char *workspace_default_path(const char *namespace_name, const char *name);
/* Releases the lock and, unless is_run_kept, removes run/. NULL is fine. */
void workspace_close(struct workspace *workspace, bool is_run_kept);

/* Remembers the file of the item. *ret_previous is the one of the last run if that was another file
 * and state or objects of it exist, else NULL; the caller frees it. Failures are ignored. */
void workspace_remember_origin(struct workspace *workspace, const char *path, char **ret_previous);

/* Borrowed; absolute. */
const char *workspace_path(const struct workspace *workspace);
const char *workspace_run_path(const struct workspace *workspace);
int workspace_fd(const struct workspace *workspace);
int workspace_state_fd(const struct workspace *workspace);

/* Replaces run/ by a new one with empty subdirectories. */
int workspace_begin(struct workspace *workspace, struct error *err) must_check;
/* Moves the generations that wait delivered from run/sink to state/, then removes all but the
 * newest `keep` complete ones. After a failure nothing is lost as long as run/ is kept: the next
 * call continues. */
int workspace_adopt(struct workspace *workspace, size_t keep, struct error *err) must_check;
/* Removes all state, as after a successful DELETE. */
int workspace_forget(struct workspace *workspace, struct error *err) must_check;
