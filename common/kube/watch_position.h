/* SPDX-License-Identifier: Apache-2.0 */
/* How far a watch has come. A resourceVersion is a word of the server's, to be sent back as it is;
 * that it counts etcd's revisions is only used to find out that etcd was put back. Part of kube/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct watch_place {
    char *version;   /* where to go on, or NULL: list, or begin with what is there */
    uint64_t newest; /* that the server has told; 0: none, or no number */
    bool is_doubted; /* the server was away: it may not be where it was */
};

void watch_place_remember(struct watch_place *place, const char *version); /* NULL, "": nothing */
void watch_place_forget(struct watch_place *place); /* what is newest stays */
void watch_place_reset(struct watch_place *place);  /* the server begins anew */
void watch_place_done(struct watch_place *place);
/* Whether a list of this version is older than what the server has told already: lists are read
 * from etcd, whose revisions only grow, unless it was put back to a backup. */
bool watch_place_is_rewound(const struct watch_place *place, const char *version);
