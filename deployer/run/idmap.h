/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of an unprivileged user's namespace: 0 is the user, 1 and up are the subordinate ids of
 * /etc/subuid and /etc/subgid, set by newuidmap and newgidmap (Debian package uidmap). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

enum { IDMAP_NEEDED = 65536 }; /* ids that a run needs of each kind */

struct idmap_range {
    unsigned long first, count;
};

/* Finds the first range of at least IDMAP_NEEDED ids for this user, by name or number, in text (the
 * content of /etc/subuid or /etc/subgid). user may be NULL. */
bool idmap_find_range(const char *text, const char *user, uid_t uid, struct idmap_range *ret_range);

/* Finds the lowest range of IDMAP_NEEDED ids, from 100000 up, that overlaps no range in either
 * text, whoever it belongs to. */
bool idmap_find_free_range(const char *subuid, const char *subgid, struct idmap_range *ret_range);

/* Both ranges of the user. ERROR_NOT_FOUND if one is missing; the text has the command that adds
 * it, with ids that are free. */
int idmap_find_ranges(const char *subuid, const char *subgid, const char *user, uid_t uid,
                      struct idmap_range *ret_uids, struct idmap_range *ret_gids, struct error *err)
    must_check;

/* Maps the namespace of process pid for the calling user. Fails with ERROR_NOT_FOUND, naming what
 * is missing, if there are no subordinate ids or no newuidmap. Blocks until the helpers have ended.
 */
int idmap_write(pid_t pid, struct error *err) must_check;
