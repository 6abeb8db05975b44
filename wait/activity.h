/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses whether main is still running. While a pod is being stopped the kubelet does not report
 * the end of any container until all of them have ended (kubernetes/kubernetes#106896), this one
 * included. Without this check every stopped pod would stay for the whole of main's grace period,
 * even if main ended at once.
 *
 * Main counts as active while it holds a socket in the pod's network namespace or changes a file on
 * the shared volume. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wait/volume.h"

struct activity;

/* Opens everything that can't be opened inside the sandbox. process_dir is /proc/self; tests pass a
 * directory of their own. volume is borrowed. */
int activity_new(const struct volume *volume, const char *process_dir,
                 struct activity **ret_activity, struct error *err) must_check;
void activity_free(struct activity *activity); /* NULL is fine */
define_cleanup(struct activity *, activity_free)
#define cleanup_activity __attribute__((cleanup(activity_freep)))

/* True if no file changed since the previous call and no socket but our own is open. False in the
 * first call, and if there are too many files to check. */
bool activity_is_idle(struct activity *activity);

/* Changes when anything in the state directory changes. 0 if it can't be read or has too many files
 * to check. */
uint64_t activity_state_fingerprint(const struct volume *volume);
/* The sizes of all files in the state directory, of at least the first 200,000. They may be
 * changing at the same time. */
uint64_t activity_state_bytes(const struct volume *volume);

/* Whether a table of /proc/net lists a socket that is not in own; inode_column counts from 0.
 * Closed sockets (inode 0) are ignored; a line that can't be parsed counts as a foreign socket.
 * Pure. */
bool activity_has_foreign_socket(const char *table, size_t inode_column, const uint64_t *own,
                                 size_t own_count);
/* The inode in "socket:[77]", the target of a link in /proc/PID/fd; 0 if it is not a socket. Pure.
 */
uint64_t activity_socket_inode(const char *target);
