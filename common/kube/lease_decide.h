/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of leader election, without I/O and clock. Private to common/kube.
 *
 * Clocks of different machines are never compared: the lease of another holder has expired when it
 * has not changed for its duration, measured by our monotonic clock. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What is known about the Lease object. */
struct lease_record {
    bool is_there;        /* the object exists */
    bool is_ours;         /* holderIdentity is our identity */
    bool is_held;         /* holderIdentity is not empty */
    uint32_t duration_ms; /* 0: not set */
    uint64_t seen_ms;     /* when we last saw holder or renewTime change */
};

enum lease_action {
    LEASE_WAIT,   /* somebody else holds it */
    LEASE_CREATE, /* it does not exist */
    LEASE_TAKE,   /* it is free or has expired: become the holder, count a transition */
    LEASE_RENEW,  /* we hold it */
};

enum lease_action lease_decide(const struct lease_record *record, uint32_t own_duration_ms,
                               uint64_t now_ms);

/* Evaluates the spec of a Lease object. The seen_ms of previous is kept if holder and renewTime are
 * the same as in previous_spec (NULL at first). */
struct lease_record lease_record_read(const json_t *object, const json_t *previous_spec,
                                      const struct lease_record *previous, const char *identity,
                                      uint64_t now_ms);

/* The Lease to write: object (NULL: a new one) with our identity as holder, or without a holder to
 * release it. Both return a new reference. time is RFC 3339 with microseconds. */
json_t *lease_object_make(const json_t *object, const char *namespace_name, const char *name,
                          const char *identity, uint32_t duration_ms, enum lease_action action,
                          const char *time);
json_t *lease_object_release(const json_t *object, const char *time);
