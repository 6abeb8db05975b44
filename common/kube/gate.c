/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/gate.h"

#include <errno.h>
#include <stdlib.h>

void kube_gate_use(struct kube_gate *gate)
{
    *gate = (struct kube_gate){.is_used = true};
    retry_init(&gate->retry, KUBE_GATE_FIRST_MS, KUBE_GATE_MAX_MS);
}

void kube_gate_done(struct kube_gate *gate)
{
    free(gate->err);
    *gate = (struct kube_gate){0};
}

int kube_gate_check(struct kube_gate *gate, uint64_t now_ms, const char *server, struct error *err)
{
    uint64_t wait_ms = 0;

    if (!gate->is_closed)
        return 0;
    if (now_ms >= gate->next_ms) {
        gate->is_attempting = true;
        gate->next_ms = now_ms + KUBE_GATE_ATTEMPT_MS;
        return 0;
    }
    wait_ms = gate->next_ms - now_ms;
    (void)error_set(err, ERROR_TEMPORARY,
                    "server \"%s\" does not respond, next attempt in %llu s: %s", server,
                    (unsigned long long)(wait_ms + 999) / 1000, gate->err->text);
    err->os = gate->err->os;
    err->retry_after_ms = (uint32_t)wait_ms;
    return -1;
}

/* Whether this error shows that the server is away. A connection that breaks does not: the next one
 * may work. */
static bool is_away(const struct kube_gate *gate, uint64_t now_ms, const struct error *transport)
{
    if (transport->os == ETIMEDOUT)
        return gate->answered_ms == 0 || now_ms - gate->answered_ms >= KUBE_GATE_QUIET_MS;
    return transport->os == ECONNREFUSED;
}

void kube_gate_note(struct kube_gate *gate, uint64_t now_ms, const struct error *transport)
{
    if (!gate->is_used)
        return;
    if (transport->kind == ERROR_NONE) {
        gate->answered_ms = now_ms;
        gate->is_closed = gate->is_attempting = false;
        retry_reset(&gate->retry);
        error_keep(&gate->err, NULL);
        return;
    }
    /* Requests that were under way when the gate was closed fail together: they count once. */
    if (!is_away(gate, now_ms, transport) || (gate->is_closed && !gate->is_attempting))
        return;
    gate->is_closed = true;
    gate->is_attempting = false;
    error_keep(&gate->err, transport);
    gate->next_ms = now_ms + retry_next_ms(&gate->retry, transport);
}
