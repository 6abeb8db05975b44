/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/kube/tests/jwt.h"

static void reads_the_account_and_the_lifetime(void **state)
{
    static const struct {
        const char *payload, *namespace_name, *account, *uid;
        int64_t lifetime;
    } tokens[] = {
        {"{\"sub\":\"system:serviceaccount:ls-system:agent\",\"iat\":1000,\"exp\":4600}",
         "ls-system", "agent", NULL, 3600},
        {"{\"sub\":\"system:serviceaccount:a:b\",\"kubernetes.io\":{\"namespace\":\"a\","
         "\"serviceaccount\":{\"name\":\"b\",\"uid\":\"u-1\"}}}",
         "a", "b", "u-1", 7},
        {"{\"sub\":\"someone\",\"kubernetes.io\":{\"serviceaccount\":{\"uid\":\"u-1\"}}}", NULL,
         NULL, NULL, 7},
        {"{\"sub\":\"system:serviceaccount:a:b?\",\"exp\":4600}", "a", "b?", NULL, 7},
        {"{\"iat\":1,\"exp\":9223372036854775807}", NULL, NULL, NULL, INT32_MAX},
        {"{\"sub\":\"system:serviceaccount:ls-system:\"}", NULL, NULL, NULL, 7},
        {"{\"sub\":\"system:serviceaccount::x\"}", NULL, NULL, NULL, 7},
        {"{\"sub\":\"system:serviceaccount:a:b:c\"}", NULL, NULL, NULL, 7},
        {"{\"sub\":\"admin\",\"iat\":5,\"exp\":4}", NULL, NULL, NULL, 7},
        {"{\"sub\":7,\"iat\":\"x\"}", NULL, NULL, NULL, 7},
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
        assert_string_equal(claims.account_uid ? claims.account_uid : "none",
                            tokens[i].uid ? tokens[i].uid : "none");
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
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
