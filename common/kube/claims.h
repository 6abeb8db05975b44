/* SPDX-License-Identifier: Apache-2.0 */
/* What the token of a service account says about itself. Pure. */
#pragma once

#include <stdint.h>

#include "common/base/error.h"

struct token_claims {
    char *namespace_name, *account; /* NULL: not a service account */
    char *account_uid;              /* NULL: the token does not say it */
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
