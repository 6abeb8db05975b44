/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of a run inside its mount namespace. init and wait run as the pod's user, who usually may
 * not enter the home directory that the run's files are in. So these files and both programs are
 * mounted below /mnt, which everybody may enter. */
#pragma once

#include <stdbool.h>

#include "common/base/error.h"

#define STAGING_RUN "/mnt/longshore/run"
#define STAGING_BASE STAGING_RUN "/ls" /* stands for the contract's base path */
#define STAGING_SINK STAGING_RUN "/sink"
#define STAGING_INIT "/mnt/longshore/longshore-init"
#define STAGING_WAIT "/mnt/longshore/longshore-wait"

/* Mounts run_path and the two programs, which are searched beside our own executable, in the build
 * tree and in PATH. ERROR_NOT_FOUND if one is missing. */
int staging_mount(const char *run_path, struct error *err) must_check;

/* Mounts main's root file system at RUN_PATH/root: an overlay over the image, which stays
 * unchanged. Changes go to RUN_PATH/upper or, if that file system does not support overlays, to
 * memory. */
int staging_mount_root(const char *image_root, const char *run_path, bool has_user_namespace,
                       struct error *err) must_check;

/* Unmounts all of this, so that run_path can be removed. */
void staging_unmount(const char *run_path);
