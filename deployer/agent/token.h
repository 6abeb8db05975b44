/* SPDX-License-Identifier: Apache-2.0 */
/* When tokens of service accounts are renewed. Pure. */
#pragma once

#include <stdint.h>

/* In how many milliseconds a token is to be renewed; 0: now. Tokens are renewed after 40 to 50 % of
 * their life, depending on name, so that many agents do not do it at the same time.
 *
 * requested and now are by our own clock, so a clock that is constantly wrong does not matter. A
 * token that was requested in the future shows that the clock was set back: it is renewed now, and
 * so is one that seems too old because the clock was set ahead. */
uint64_t token_renewal_in_ms(const char *name, const char *requested, int64_t lifetime_seconds,
                             int64_t now_unix_ms);
