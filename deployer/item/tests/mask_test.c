/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "deployer/item/mask.h"

#define TOKEN "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQabc.c2lnbmF0dXJl"

static const struct {
    const char *text, *masked;
} cases[] = {
    {"", ""},
    {"nothing to hide: exit code 3", "nothing to hide: exit code 3"},
    {"password=hunter22 user=me", "password=*** user=me"},
    {"DB_PASSWORD: hunter22", "DB_PASSWORD: ***"},
    {"{\"token\": \"abc def\", \"x\": 1}", "{\"token\": \"***\", \"x\": 1}"},
    {"Authorization: Bearer abc.def", "Authorization: Bearer ***"},
    {"authorization: Basic dXNlcg==\nnext", "authorization: Basic ***\nnext"},
    {"accessToken='x y'", "accessToken='***'"},
    {"token expired", "token expired"},
    {"no such secret: ", "no such secret: "},
    {"https://user:pass@host/path", "https://***@host/path"},
    {"https://host:8080/path", "https://host:8080/path"},
    {"https://host/a:b@c", "https://host/a:b@c"},
    {"got " TOKEN " back", "got *** back"},
    {"eyJ is short", "eyJ is short"},
    {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxx\n-----END RSA PRIVATE KEY-----\nafter",
     "***\nafter"},
    {"-----BEGIN PRIVATE KEY-----\nMIIE", "***"},
    {"-----BEGIN CERTIFICATE-----\nMIIE\n", "-----BEGIN CERTIFICATE-----\nMIIE\n"},
    {"known-secret-1 and known-secret-1", "*** and ***"},
    {"known-secret-12", "***"},
    {"my-known-secret-1-token=abc", "my-***-token=***"},
    {"token=a;known-secret-1", "token=***;***"},
};

static void what_looks_like_a_credential_is_masked(void **state)
{
    static const char *const secrets[] = {"known-secret-1", "known-secret-12", "abc", NULL};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *masked = mask_text(cases[i].text, secrets);

        assert_string_equal(masked, cases[i].masked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_looks_like_a_credential_is_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
