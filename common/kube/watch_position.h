/* SPDX-License-Identifier: Apache-2.0 */
/* The resourceVersion from which a watch resumes. It is opaque and sent back as received; that it
 * is the revision of etcd is used only to detect that etcd was restored from a backup. Private to
 * common/kube. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct watch_position {
    char *version;      /* to resume from, or NULL: start anew */
    uint64_t newest;    /* the highest version received; 0: none, or not numeric */
    bool is_unverified; /* the server was away: etcd may have been restored */
};

/* Does nothing if version is NULL or empty. */
void watch_position_remember(struct watch_position *position, const char *version);
void watch_position_forget(struct watch_position *position); /* keeps newest */
void watch_position_reset(struct watch_position *position);  /* forgets newest, too */
void watch_position_done(struct watch_position *position);
/* Whether the version of a list is lower than one received before. Lists are read from etcd, whose
 * revision only grows, so this means that etcd was restored from a backup. */
bool watch_position_is_rewound(const struct watch_position *position, const char *version);
