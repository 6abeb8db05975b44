/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: a token is either refused, or has an account with a namespace or none of both, and a
 * uid only with an account; the lifetime is positive if the fallback is; an error never quotes the
 * token. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/claims.h"

enum { QUOTED_MIN = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free char *token = xstrndup((const char *)data, size);
    cleanup_token_claims struct token_claims claims = {0};
    struct error err = {0};

    doc_setup();
    if (token_claims_read(token, &claims, &err) < 0) {
        if (err.kind != ERROR_INVALID || (strlen(token) >= QUOTED_MIN && strstr(err.text, token)))
            abort();
        return 0;
    }
    if (!claims.account != !claims.namespace_name || token_lifetime_seconds(&claims, 1) <= 0)
        abort();
    if (claims.account_uid && !claims.account)
        abort();
    if (claims.account && (!*claims.account || !*claims.namespace_name))
        abort();
    return 0;
}
