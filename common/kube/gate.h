/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off that all requests of a client share: when the server cannot be reached or is silent, one
 * attempt at a time is made, with back-off, and everything else fails at once. Only arithmetic; no
 * timers. Private to common/kube. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/net/retry.h"

enum {
    KUBE_GATE_FIRST_MS = 1000,
    KUBE_GATE_MAX_MS = 30000,
    /* An attempt without a result (it may have been cancelled) permits another one after this. */
    KUBE_GATE_ATTEMPT_MS = 10000,
    /* A single slow request does not close the gate if another one was answered this recently. */
    KUBE_GATE_QUIET_MS = 10000,
};

struct kube_gate {
    bool is_used; /* otherwise it is always open */
    bool is_closed, is_attempting;
    struct retry retry;
    uint64_t next_ms;     /* when the next attempt may be made */
    uint64_t answered_ms; /* when the server last responded; 0: never */
    struct error *err;    /* why it is closed; NULL: it is open */
};

void kube_gate_use(struct kube_gate *gate);
void kube_gate_done(struct kube_gate *gate); /* also of a zeroed one */
/* Whether a request may be sent now. Otherwise ERROR_TEMPORARY with the reason and retry_after_ms.
 */
int kube_gate_check(struct kube_gate *gate, uint64_t now_ms, const char *server, struct error *err)
    must_check;
/* The result of a request that was sent; kind ERROR_NONE: any response of the server. */
void kube_gate_note(struct kube_gate *gate, uint64_t now_ms, const struct error *transport);
