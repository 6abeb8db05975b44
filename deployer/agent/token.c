/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/token.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/data/timestamp.h"

enum { LATEST_PERCENT = 50, JITTER_PERCENT = 10 };

uint64_t token_renewal_in_ms(const char *name, const char *requested, int64_t lifetime_seconds,
                             int64_t now_unix_ms)
{
    int64_t since = 0;
    struct error ignored = {0};
    uint32_t jitter = hash_bytes(HASH_FIRST, name, strlen(name)) % (JITTER_PERCENT + 1);
    int64_t percent = LATEST_PERCENT - (int64_t)jitter;
    int64_t due_ms = 0;

    if (lifetime_seconds <= 0 || lifetime_seconds > INT32_MAX ||
        timestamp_parse(requested, &since, &ignored) < 0)
        return 0;
    due_ms = since + lifetime_seconds * 10 * percent;
    /* Timestamps have whole seconds, so that a token requested just now may seem a second old. */
    if (now_unix_ms < since || now_unix_ms >= due_ms)
        return 0;
    return (uint64_t)(due_ms - now_unix_ms);
}
