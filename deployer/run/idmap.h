/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of a plain user's namespace: 0 is the user, 1 and up are the subordinate ids of /etc/subuid
 * and /etc/subgid, set by newuidmap and newgidmap (Debian package uidmap). */
#pragma once

#include <sys/types.h>

#include "common/base/error.h"

struct idmap_range {
    unsigned long first, count;
};

/* The first range in text (the file's content) for this user, by name or number, that has at least
 * needed ids. ERROR_NOT_FOUND otherwise. user may be NULL. */
int idmap_find_range(const char *text, const char *user, uid_t uid, unsigned long needed,
                     struct idmap_range *ret_range, struct error *err) must_check;

/* Maps the namespace of process pid for the calling user. */
int idmap_write(pid_t pid, struct error *err) must_check;
