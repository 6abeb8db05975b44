/* SPDX-License-Identifier: Apache-2.0 */
/* The thinking of leader election, without I/O and without a clock of its own. Part of kube/.
 *
 * Clocks of different machines are never compared: another holder's lease has run out when we have
 * seen no change of it for its duration, measured by our own monotonic clock. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What we know of the Lease object. */
struct lease_record {
    bool is_there;
    bool is_ours;         /* holderIdentity is our identity */
    bool is_held;         /* holderIdentity is not empty */
    uint32_t duration_ms; /* 0: none is given */
    uint64_t seen_ms;     /* when holder or renewTime last changed before our eyes */
};

enum lease_action {
    LEASE_WAIT,   /* somebody else has it */
    LEASE_CREATE, /* there is none */
    LEASE_TAKE,   /* it is free or has run out: a new holder, one transition more */
    LEASE_RENEW,  /* it is ours */
};

enum lease_action lease_decide(const struct lease_record *record, uint32_t own_duration_ms,
                               uint64_t now_ms);

/* Reads spec of a Lease object. previous is what was seen before; its seen_ms is kept while holder
 * and renewTime are the same texts as in previous_spec (NULL at first). */
struct lease_record lease_record_read(const json_t *object, const json_t *previous_spec,
                                      const struct lease_record *previous, const char *identity,
                                      uint64_t now_ms);

/* The Lease to send: of object (NULL: a new one) with our identity, or none to give it back. New
 * reference. time is RFC 3339 with microseconds. */
json_t *lease_object_make(const json_t *object, const char *namespace_name, const char *name,
                          const char *identity, uint32_t duration_ms, enum lease_action action,
                          const char *time);
json_t *lease_object_release(const json_t *object, const char *time);
