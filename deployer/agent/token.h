/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts: what they say about themselves, and when to renew them. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct token_claims {
    char *namespace_name, *account; /* NULL: not a service account */
    int64_t issued, expires;        /* seconds since 1970, by the server's clock; 0: not given */
};

/* Reads a JWT without verifying it: the API server does that. ERROR_INVALID if it is not a JWT. The
 * text of the error never contains the token. */
int token_claims_read(const char *token, struct token_claims *ret_claims, struct error *err)
    must_check;
void token_claims_done(struct token_claims *claims);
static inline void token_claims_donep(struct token_claims *claims)
{
    token_claims_done(claims);
}
#define cleanup_token_claims __attribute__((cleanup(token_claims_donep)))

/* For how long the token was granted; fallback if it does not say so. */
int64_t token_lifetime_seconds(const struct token_claims *claims, int64_t fallback);

/* In how many milliseconds a token is to be renewed; 0: now. Tokens are renewed after 40 to 50 % of
 * their life, depending on name, so that many agents do not do it at the same time.
 *
 * requested and now are by our own clock, so a clock that is constantly wrong does not matter. A
 * token that was requested in the future shows that the clock was set back: it is renewed now, and
 * so is one that seems too old because the clock was set ahead. */
uint64_t token_renewal_in_ms(const char *name, const char *requested, int64_t lifetime_seconds,
                             int64_t now_unix_ms);
