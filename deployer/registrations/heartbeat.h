/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the agents are alive, judged by the Leases that they renew. No I/O.
 *
 * Clocks of different machines are never compared: a Lease is too old when it has not changed for
 * its duration, measured by our monotonic clock. After a start nothing is known about a Lease until
 * it has changed or its duration has passed. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* An agent whose Lease has not changed for this time is reported as lost. A Lease can shorten it. */
enum { HEARTBEAT_MAX_MS = 40 * 1000 };

enum heartbeat_state {
    HEARTBEAT_ABSENT,   /* there is no Lease */
    HEARTBEAT_UNKNOWN,  /* it has not changed yet, but it is not too old either */
    HEARTBEAT_ALIVE,
    HEARTBEAT_RELEASED, /* the agent has ended and released it */
    HEARTBEAT_LOST,
};

/* beats: object, name of a Lease -> what is known about it. */

/* Takes a Lease over that was listed or has changed. */
void heartbeat_set(json_t *beats, const json_t *lease, uint64_t now_ms);
void heartbeat_remove(json_t *beats, const char *name);
/* Nothing was received between both times. Nothing is known about Leases that were not too old
 * before and have not changed since. */
void heartbeat_resume(json_t *beats, uint64_t broken_ms, uint64_t now_ms);
enum heartbeat_state heartbeat_judge(const json_t *beats, const char *name, uint64_t now_ms);
/* Time since the last change that we have seen; 0 for an unknown name. */
uint64_t heartbeat_age_ms(const json_t *beats, const char *name, uint64_t now_ms);
/* When the next Lease becomes too old if none changes; UINT64_MAX: never. */
uint64_t heartbeat_next_ms(const json_t *beats, uint64_t now_ms);
