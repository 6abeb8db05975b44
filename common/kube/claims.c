/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/claims.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"

#define SUBJECT_PREFIX "system:serviceaccount:"

enum { PAYLOAD_MAX = 64 * 1024 };

void token_claims_done(struct token_claims *claims)
{
    free(claims->namespace_name);
    free(claims->account);
    free(claims->account_uid);
    *claims = (struct token_claims){0};
}

/* base64url without padding, as in a JWT. */
static int decode_part(const char *part, size_t length, struct buffer *ret_text, struct error *err)
{
    size_t padded = (length + 3) / 4 * 4;
    cleanup_wipe char *text = xcalloc(1, padded + 1);

    for (size_t i = 0; i < padded; i++) {
        char c = i < length ? part[i] : '=';

        text[i] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    return base64_decode(text, padded, ret_text, err);
}

static void read_subject(const char *subject, struct token_claims *claims)
{
    const char *rest = subject + strlen(SUBJECT_PREFIX);
    const char *colon = NULL;

    if (strncmp(subject, SUBJECT_PREFIX, strlen(SUBJECT_PREFIX)) != 0)
        return;
    colon = strchr(rest, ':');
    if (!colon || colon == rest || !colon[1] || strchr(colon + 1, ':'))
        return;
    claims->namespace_name = xstrndup(rest, (size_t)(colon - rest));
    claims->account = xstrdup(colon + 1);
}

int token_claims_read(const char *token, struct token_claims *ret_claims, struct error *err)
{
    const char *start = strchr(token, '.');
    const char *end = start ? strchr(start + 1, '.') : NULL;
    cleanup_buffer struct buffer text = {0};
    cleanup_json json_t *payload = NULL;
    struct error ignored = {0};
    const json_t *account = NULL;

    buffer_init(&text, PAYLOAD_MAX);
    if (!end || (size_t)(end - start) > PAYLOAD_MAX ||
        decode_part(start + 1, (size_t)(end - start - 1), &text, &ignored) < 0 ||
        doc_parse_json(text.data ? text.data : "", text.size, PAYLOAD_MAX, &payload, &ignored) < 0)
        return error_set(err, ERROR_INVALID, "the token is not a JSON Web Token");
    *ret_claims = (struct token_claims){.issued = doc_integer_or(payload, "iat", 0),
                                        .expires = doc_integer_or(payload, "exp", 0)};
    read_subject(doc_text_or(payload, "sub", ""), ret_claims);
    account = doc_member(doc_member(payload, "kubernetes.io"), "serviceaccount");
    if (ret_claims->account)
        ret_claims->account_uid = xstrdup_or_null(doc_text(account, "uid"));
    return 0;
}

int64_t token_lifetime_seconds(const struct token_claims *claims, int64_t fallback)
{
    int64_t seconds = claims->issued > 0 && claims->expires > claims->issued
                          ? claims->expires - claims->issued
                          : fallback;

    return seconds > INT32_MAX ? INT32_MAX : seconds;
}
