/* SPDX-License-Identifier: Apache-2.0 */
/* The resourceVersion from which a watch resumes. It is opaque and sent back as received; that it
 * is the revision of etcd is used to store it without an allocation, and to detect that etcd was
 * restored from a backup. Private to common/kube. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct watch_position {
    uint64_t number;    /* the version to resume from, if it is the plain decimal number; else 0 */
    char *text;         /* the version to resume from, if number is 0; NULL: start anew */
    uint64_t newest;    /* the highest version received; 0: none, or not numeric */
    bool is_unverified; /* the server was away: etcd may have been restored */
};

enum { WATCH_POSITION_TEXT_SIZE = 24 };

/* Does nothing if version is NULL or empty. */
void watch_position_remember(struct watch_position *position, const char *version);
/* The version to resume from, or NULL: start anew. Written to text if necessary; valid until the
 * position is changed. */
const char *watch_position_get(const struct watch_position *position,
                               char text[WATCH_POSITION_TEXT_SIZE]);
bool watch_position_is_set(const struct watch_position *position);
void watch_position_forget(struct watch_position *position); /* keeps newest */
void watch_position_reset(struct watch_position *position);  /* forgets newest, too */
void watch_position_done(struct watch_position *position);
/* Whether the version of a list is lower than one received before. Lists are read from etcd, whose
 * revision only grows, so this means that etcd was restored from a backup. */
bool watch_position_is_rewound(const struct watch_position *position, const char *version);
