/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/base64.h"
#include "common/data/doc.h"
#include "common/data/timestamp.h"

#define REQUESTED "2026-01-01T00:00:00Z"

enum { HOUR_MS = 3600 * 1000, DAY_SECONDS = 86400 };

/* A token with this payload, in base64url. */
static char *token_with(const char *payload)
{
    cleanup_free char *encoded = base64_encode(payload, strlen(payload));

    for (char *c = encoded; *c; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c);
    return xasprintf("eyJhbGciOiJub25lIn0.%s.signature", encoded);
}

static void reads_the_account_and_the_lifetime(void **state)
{
    static const struct {
        const char *payload, *namespace_name, *account;
        int64_t lifetime;
    } tokens[] = {
        {"{\"sub\":\"system:serviceaccount:ls-system:agent\",\"iat\":1000,\"exp\":4600}",
         "ls-system", "agent", 3600},
        {"{\"sub\":\"system:serviceaccount:a:b?\",\"exp\":4600}", "a", "b?", 7},
        {"{\"iat\":1,\"exp\":9223372036854775807}", NULL, NULL, INT32_MAX},
        {"{\"sub\":\"system:serviceaccount:ls-system:\"}", NULL, NULL, 7},
        {"{\"sub\":\"system:serviceaccount::x\"}", NULL, NULL, 7},
        {"{\"sub\":\"system:serviceaccount:a:b:c\"}", NULL, NULL, 7},
        {"{\"sub\":\"admin\",\"iat\":5,\"exp\":4}", NULL, NULL, 7},
        {"{\"sub\":7,\"iat\":\"x\"}", NULL, NULL, 7},
    };

    (void)state;
    for (size_t i = 0; i < array_length(tokens); i++) {
        cleanup_free char *token = token_with(tokens[i].payload);
        cleanup_token_claims struct token_claims claims = {0};
        struct error err = {0};

        assert_int_equal(token_claims_read(token, &claims, &err), 0);
        if (tokens[i].account) {
            assert_string_equal(claims.namespace_name, tokens[i].namespace_name);
            assert_string_equal(claims.account, tokens[i].account);
        } else {
            assert_null(claims.account);
        }
        assert_int_equal(token_lifetime_seconds(&claims, 7), tokens[i].lifetime);
    }
}

static void rejects_other_tokens_without_quoting_them(void **state)
{
    static const char *const tokens[] = {"", "s3cret", "a.b", "a..c", "a.!!.c", "a.bm8.c"};

    (void)state;
    for (size_t i = 0; i < array_length(tokens); i++) {
        struct token_claims claims = {0};
        struct error err = {0};

        assert_int_equal(token_claims_read(tokens[i], &claims, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "s3cret"));
    }
}

/* Between 40 and 50 % of the life, whatever the name is. */
static void renews_at_half_of_the_life(void **state)
{
    int64_t since = 0;
    struct error err = {0};

    (void)state;
    assert_int_equal(timestamp_parse(REQUESTED, &since, &err), 0);
    for (int i = 0; i < 100; i++) {
        cleanup_free char *name = xasprintf("environment-%d", i);
        uint64_t delay = token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since);

        assert_in_range(delay, (uint64_t)DAY_SECONDS * 400, (uint64_t)DAY_SECONDS * 500);
        assert_int_equal(token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since + HOUR_MS),
                         delay - HOUR_MS);
        assert_int_equal(token_renewal_in_ms(name, REQUESTED, DAY_SECONDS, since + (int64_t)delay),
                         0);
    }
}

static void renews_at_once_if_the_clock_was_set(void **state)
{
    int64_t since = 0;
    struct error err = {0};

    (void)state;
    assert_int_equal(timestamp_parse(REQUESTED, &since, &err), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, DAY_SECONDS, since - 24LL * HOUR_MS), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, DAY_SECONDS, since + 24LL * HOUR_MS), 0);
    assert_int_equal(token_renewal_in_ms("a", "yesterday", DAY_SECONDS, since), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, 0, since), 0);
    assert_int_equal(token_renewal_in_ms("a", REQUESTED, -5, since), 0);
}

static int setup(void **state)
{
    (void)state;
    doc_setup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_account_and_the_lifetime),
        cmocka_unit_test(rejects_other_tokens_without_quoting_them),
        cmocka_unit_test(renews_at_half_of_the_life),
        cmocka_unit_test(renews_at_once_if_the_clock_was_set),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
