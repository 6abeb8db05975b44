/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/token.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

#define SUBJECT_PREFIX "system:serviceaccount:"

enum { PAYLOAD_MAX = 64 * 1024, LATEST_PERCENT = 50, JITTER_PERCENT = 10 };

void token_claims_done(struct token_claims *claims)
{
    free(claims->namespace_name);
    free(claims->account);
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

    buffer_init(&text, PAYLOAD_MAX);
    if (!end || (size_t)(end - start) > PAYLOAD_MAX ||
        decode_part(start + 1, (size_t)(end - start - 1), &text, &ignored) < 0 ||
        doc_parse_json(text.data ? text.data : "", text.size, PAYLOAD_MAX, &payload, &ignored) < 0)
        return error_set(err, ERROR_INVALID, "the token is not a JSON Web Token");
    *ret_claims = (struct token_claims){.issued = doc_integer_or(payload, "iat", 0),
                                        .expires = doc_integer_or(payload, "exp", 0)};
    read_subject(doc_text_or(payload, "sub", ""), ret_claims);
    return 0;
}

int64_t token_lifetime_seconds(const struct token_claims *claims, int64_t fallback)
{
    int64_t seconds = claims->issued > 0 && claims->expires > claims->issued
                          ? claims->expires - claims->issued
                          : fallback;

    return seconds > INT32_MAX ? INT32_MAX : seconds;
}

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
