/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/lease_decide.h"

#include <string.h>

#include "common/data/doc.h"

enum lease_action lease_decide(const struct lease_record *record, uint32_t own_duration_ms,
                               uint64_t now_ms)
{
    uint32_t duration_ms = record->duration_ms ? record->duration_ms : own_duration_ms;

    if (!record->is_there)
        return LEASE_CREATE;
    if (record->is_ours)
        return LEASE_RENEW;
    if (!record->is_held || now_ms - record->seen_ms >= duration_ms)
        return LEASE_TAKE;
    return LEASE_WAIT;
}

static bool is_same_text(const json_t *a, const json_t *b, const char *key)
{
    return strcmp(doc_text_or(a, key, ""), doc_text_or(b, key, "")) == 0;
}

struct lease_record lease_record_read(const json_t *object, const json_t *previous_spec,
                                      const struct lease_record *previous, const char *identity,
                                      uint64_t now_ms)
{
    const json_t *spec = doc_member(object, "spec");
    const char *holder = doc_text_or(spec, "holderIdentity", "");
    int64_t seconds = doc_integer_or(spec, "leaseDurationSeconds", 0);
    struct lease_record record = {
        .is_there = true,
        .is_ours = strcmp(holder, identity) == 0,
        .is_held = holder[0] != '\0',
        .seen_ms = now_ms,
    };

    /* Limited to an hour, since no other candidate can take over for that long after a crash of the
     * holder. */
    if (seconds > 0)
        record.duration_ms = (uint32_t)(seconds > 3600 ? 3600 : seconds) * 1000;
    if (previous_spec && previous->is_there && is_same_text(spec, previous_spec, "renewTime") &&
        is_same_text(spec, previous_spec, "holderIdentity"))
        record.seen_ms = previous->seen_ms;
    return record;
}

json_t *lease_object_make(const json_t *object, const char *namespace_name, const char *name,
                          const char *identity, uint32_t duration_ms, enum lease_action action,
                          const char *time)
{
    json_t *lease = object ? json_deep_copy(object) : json_object();
    int64_t transitions = doc_integer_or(object, "spec.leaseTransitions", 0);

    if (action == LEASE_CREATE) {
        doc_set_text(lease, "apiVersion", "coordination.k8s.io/v1");
        doc_set_text(lease, "kind", "Lease");
        doc_set_text(lease, "metadata.namespace", namespace_name);
        doc_set_text(lease, "metadata.name", name);
    }
    if (!json_is_object(doc_member(lease, "spec")))
        doc_set_new(lease, "spec", json_object());
    if (action != LEASE_RENEW) {
        doc_set_text(lease, "spec.acquireTime", time);
        /* leaseTransitions is an int32. */
        if (action == LEASE_TAKE && transitions < INT32_MAX)
            transitions++;
        doc_set_new(lease, "spec.leaseTransitions", json_integer(transitions));
    }
    doc_set_text(lease, "spec.holderIdentity", identity);
    doc_set_text(lease, "spec.renewTime", time);
    doc_set_new(lease, "spec.leaseDurationSeconds", json_integer(duration_ms / 1000));
    return lease;
}

json_t *lease_object_release(const json_t *object, const char *time)
{
    json_t *lease = json_deep_copy(object);

    /* Clients that ignore an empty holder and only compare times wait for one second. */
    doc_set_text(lease, "spec.holderIdentity", "");
    doc_set_text(lease, "spec.renewTime", time);
    doc_set_text(lease, "spec.acquireTime", time);
    doc_set_new(lease, "spec.leaseDurationSeconds", json_integer(1));
    return lease;
}
