/* SPDX-License-Identifier: Apache-2.0 */
/* Whether main still does anything. Once a pod is being stopped the kubelet reports no container's
 * end until all have ended (kubernetes/kubernetes#106896), us included: without this every stopped
 * pod would last until late in its grace time, though main may have ended at once.
 *
 * A main that holds a socket in the pod's network, or changes a file on the volume, is at work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wait/volume.h"

struct quiet;

/* Opens what a sandbox would keep us from later. process_dir is /proc/self, or a test's own. */
int quiet_new(const struct volume *volume, const char *process_dir, struct quiet **ret_quiet,
              struct error *err) must_check;
void quiet_free(struct quiet *quiet); /* NULL is fine */
define_cleanup(struct quiet *, quiet_free)
#define cleanup_quiet __attribute__((cleanup(quiet_freep)))

/* True if nothing changed since the last look and no socket but our own is open. The first
 * look, and one at more than can be looked at, is false. */
bool quiet_look(struct quiet *quiet);

/* Whether a table of /proc/net lists a socket other than these; inode_column counts from 0. Sockets
 * that nobody holds any more (inode 0) don't count; a line without a number there may be anything,
 * and does. Pure. */
bool quiet_has_foreign_socket(const char *table, size_t inode_column, const uint64_t *own,
                              size_t own_count);
/* The inode in "socket:[77]", what a descriptor of /proc links to; 0 if it is no socket. Pure. */
uint64_t quiet_socket_inode(const char *target);
