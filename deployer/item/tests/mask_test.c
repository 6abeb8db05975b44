/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    /* A key and a token whose beginnings were cut off. */
    {"xx\n-----END RSA PRIVATE KEY-----\nafter", "***\nafter"},
    {"MIIE\n-----END CERTIFICATE-----\n", "MIIE\n-----END CERTIFICATE-----\n"},
    {"J9.eyJzdWIiOiJzeXN0ZW0ifQabc.c2lnbmF0dXJlc2lnbmF0dXJl back", "*** back"},
    {"a.example.com: no such host", "a.example.com: no such host"},
    /* Secrets that were cut, by whoever keeps no more than some bytes of a log. */
    {"cret-1 is wrong", "*** is wrong"},
    {"t-12 is wrong", "*** is wrong"},
    {"-12 is wrong", "-12 is wrong"},
    {"\xef\xbf\xbd"
     "cret-1 is wrong",
     "\xef\xbf\xbd*** is wrong"},
    {"the secret is known-secret-", "the secret is ***"},
    {"the secret is know", "the secret is ***"},
    {"the secret is kno", "the secret is kno"},
    {"the secret is known-se\xef\xbf\xbd", "the secret is ***\xef\xbf\xbd"},
    {"this is known\n", "this is known\n"}, /* a whole line was not cut */
    {"secret-1", "***"},
    {"aaaaaaaaaaaaaaa", "***"},
    {"bbbbbbbb aaaaaaaab", "bbbbbbbb ***"},
};

static void what_looks_like_a_credential_is_masked(void **state)
{
    static const char *const secrets[] = {"known-secret-1", "known-secret-12", "abc",
                                          "aaaaaaaab",      "aaaaaaa",         NULL};

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *masked = mask_text(cases[i].text, secrets);

        assert_string_equal(masked, cases[i].masked);
    }
}

/* A text that repeats itself against secrets that do: a search that starts anew at every letter
 * would not come to an end here. */
static void a_hundred_thousand_secrets_are_all_found(void **state)
{
    enum { COUNT = 100 * 1000, TEXT = 16 * 1024 };
    char **secrets = xcalloc(COUNT + 1, sizeof(*secrets));
    cleanup_free char *text = xcalloc(TEXT + 64, 1);
    cleanup_free char *masked = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        secrets[i] = i < 1000 ? xcalloc(1000 + i + 2, 1) : xasprintf("value-%06zu", i);
    for (size_t i = 0; i < 1000; i++)
        memset(secrets[i], 'a', 1000 + i);
    memset(text, 'a', TEXT);
    memcpy(text + TEXT, " value-099999 value-100000\n", 27);
    masked = mask_text(text, (const char *const *)secrets);
    assert_string_equal(masked, "*** *** value-100000\n");
    for (size_t i = 0; i < COUNT; i++)
        free(secrets[i]);
    free(secrets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_looks_like_a_credential_is_masked),
        cmocka_unit_test(a_hundred_thousand_secrets_are_all_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
