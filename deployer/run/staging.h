/* SPDX-License-Identifier: Apache-2.0 */
/* Where init and wait find the run inside the nest. They run as the pod's user, who may not pass
 * through the home directory that the run lies in; so the run and the two programs are mounted at a
 * place that everybody may pass through. Only the nest sees these mounts. */
#pragma once

#include "common/base/error.h"

#define STAGE_RUN "/mnt/longshore/run"
#define STAGE_BASE STAGE_RUN "/ls" /* stands for the contract's base path */
#define STAGE_SINK STAGE_RUN "/sink"
#define STAGE_INIT "/mnt/longshore/longshore-init"
#define STAGE_WAIT "/mnt/longshore/longshore-wait"

/* The programs are looked for beside our own file, in the build tree and in PATH. */
int stage_set(const char *run_path, struct error *err) must_check;

/* A root file system of main's own: writes go to the run's upper directory (or to memory, where the
 * file system of the run can't carry an overlay), the image stays as it is. */
int stage_mount_root(const char *image_root, const char *run_path, bool has_user_namespace,
                     struct error *err) must_check;

/* Takes all of these mounts away, so that the run's directory can be removed. */
void stage_clear(const char *run_path);
