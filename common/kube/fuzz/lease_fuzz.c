/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: for any Lease, it is never taken over when it is seen for the first time, it expires
 * after at most an hour, we are the holder of what we write, and what we release has no holder. */
#include <stdint.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/fuzz/must.h"
#include "common/kube/lease_decide.h"

#define ME "me"
#define TIME "2026-01-01T00:00:00.000000Z"

enum { OWN_MS = 15000, NOW_MS = 1000000, HOUR_MS = 3600 * 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lease_record seen(const json_t *lease, const json_t *previous,
                                const struct lease_record *record, uint64_t now_ms)
{
    return lease_record_read(lease, previous ? doc_member(previous, "spec") : NULL, record, ME,
                             now_ms);
}

static void check_foreign(const json_t *lease, const struct lease_record *first)
{
    struct lease_record later = seen(lease, lease, first, NOW_MS + HOUR_MS);

    must(lease_decide(first, OWN_MS, NOW_MS) == (first->is_held ? LEASE_WAIT : LEASE_TAKE));
    must(lease_decide(&later, OWN_MS, NOW_MS + HOUR_MS) == LEASE_TAKE);
}

static void check_written(const json_t *lease, enum lease_action action)
{
    struct lease_record none = {0};
    cleanup_json json_t *taken = lease_object_make(lease, "ns", "name", ME, OWN_MS, action, TIME);
    cleanup_json json_t *freed = lease_object_release(taken, TIME);
    struct lease_record record = seen(taken, NULL, &none, NOW_MS);

    must(record.is_ours && record.is_held && record.duration_ms == OWN_MS);
    must(lease_decide(&record, OWN_MS, NOW_MS) == LEASE_RENEW);
    record = seen(freed, NULL, &none, NOW_MS);
    must(!record.is_held && lease_decide(&record, OWN_MS, NOW_MS) == LEASE_TAKE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_json json_t *lease = NULL;
    struct lease_record none = {0}, first = {0};
    struct error err = {0};

    doc_setup();
    if (doc_parse_json((const char *)data, size, 1 << 16, &lease, &err) < 0 ||
        !json_is_object(lease))
        return 0;
    first = seen(lease, NULL, &none, NOW_MS);
    must(first.is_there && first.duration_ms <= HOUR_MS && first.seen_ms == NOW_MS);
    if (first.is_ours)
        must(lease_decide(&first, OWN_MS, NOW_MS) == LEASE_RENEW);
    else
        check_foreign(lease, &first);
    check_written(lease, LEASE_TAKE);
    check_written(lease, LEASE_RENEW);
    return 0;
}
