/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "deployer/pod/mask.h"

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
    /* A key and a token with truncated beginnings. */
    {"xx\n-----END RSA PRIVATE KEY-----\nafter", "***\nafter"},
    {"MIIE\n-----END CERTIFICATE-----\n", "MIIE\n-----END CERTIFICATE-----\n"},
    {"J9.eyJzdWIiOiJzeXN0ZW0ifQabc.c2lnbmF0dXJlc2lnbmF0dXJl back", "*** back"},
    {"a.example.com: no such host", "a.example.com: no such host"},
    {"secret-1", "***"},
    {"aaaaaaaaaaaaaaa", "***"},
    {"bbbbbbbb aaaaaaaab", "bbbbbbbb ***"},
};

static const char *const secrets[] = {"known-secret-1", "known-secret-12", "abc",
                                      "aaaaaaaab",      "aaaaaaa",         NULL};

static void text_that_looks_like_a_credential_is_masked(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_free char *masked = mask_text(cases[i].text, secrets);

        assert_string_equal(masked, cases[i].masked);
    }
}

/* Fragments at both ends of a text that may be truncated there, and the size of the text between
 * them. */
static const struct {
    const char *front, *back;
    size_t between;
    const char *front_masked, *back_masked;
} cuts[] = {
    {"cret-1 is wrong", "", 2000, "*** is wrong", ""},
    {"t-12 is wrong", "", 2000, "*** is wrong", ""},
    {"-12 is wrong", "", 2000, "-12 is wrong", ""},
    {"\xef\xbf\xbd"
     "cret-1 is wrong",
     "", 2000, "\xef\xbf\xbd*** is wrong", ""},
    {"", "the secret is known-secret-", 2000, "", "the secret is ***"},
    {"", "the secret is know", 2000, "", "the secret is ***"},
    {"", "the secret is kno", 2000, "", "the secret is kno"},
    {"", "the secret is known-se\xef\xbf\xbd", 2000, "", "the secret is ***\xef\xbf\xbd"},
    {"", "this is known\n", 2000, "", "this is known\n"}, /* a complete line was not truncated */
    {"cret-1", "known", 2000, "***", "***"},
    /* The limit of a message is never that small, except with so many containers that a long part
       of the secret is left. */
    {"cret-1 is wrong", "it is known", 10, "cret-1 is wrong", "it is known"},
    {"secret-1 is wrong", "it is known-se", 10, "*** is wrong", "it is ***"},
};

static void fragments_of_secrets_at_the_edges_of_a_truncated_text_are_masked(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cuts); i++) {
        cleanup_free char *text =
            xasprintf("%s%*s%s", cuts[i].front, (int)cuts[i].between, "", cuts[i].back);
        cleanup_free char *expected = xasprintf("%s%*s%s", cuts[i].front_masked,
                                                (int)cuts[i].between, "", cuts[i].back_masked);
        cleanup_free char *masked = mask_text(text, secrets);

        assert_string_equal(masked, expected);
    }
}

/* Repetitive text and secrets: a search that restarts at every character would be too slow to
 * finish. */
static void a_hundred_thousand_secrets_are_all_found(void **state)
{
    enum { COUNT = 100 * 1000, TEXT = 16 * 1024 };
    char **values = xcalloc(COUNT + 1, sizeof(*values));
    cleanup_free char *text = xcalloc(TEXT + 64, 1);
    cleanup_free char *masked = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i < 1000 ? xcalloc(1000 + i + 2, 1) : xasprintf("value-%06zu", i);
    for (size_t i = 0; i < 1000; i++)
        memset(values[i], 'a', 1000 + i);
    memset(text, 'a', TEXT);
    memcpy(text + TEXT, " value-099999 value-100000\n", 28);
    masked = mask_text(text, (const char *const *)values);
    assert_string_equal(masked, "*** *** value-100000\n");
    for (size_t i = 0; i < COUNT; i++)
        free(values[i]);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_looks_like_a_credential_is_masked),
        cmocka_unit_test(fragments_of_secrets_at_the_edges_of_a_truncated_text_are_masked),
        cmocka_unit_test(a_hundred_thousand_secrets_are_all_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
