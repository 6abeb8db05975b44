/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/data/doc.h"
#include "common/oci/auth.h"

static const struct {
    const char *header;
    bool is_basic;
    const char *realm, *service, *scope;
} challenges[] = {
    {"Basic realm=\"x\"", true, NULL, NULL, NULL},
    {"bAsIc", true, NULL, NULL, NULL},
    {"Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:a:pull,push\"", false,
     "https://a/t", "s", "repository:a:pull,push"},
    {"BEARER Realm = \"https://a/t\" , SERVICE=s", false, "https://a/t", "s", NULL},
    {"Bearer realm=\"a\\\"b\"", false, "a\"b", NULL, NULL},
    {"Basic realm=\"x\", Bearer realm=\"https://a/t\"", true, "https://a/t", NULL, NULL},
    {"Negotiate YWJjZA==, Bearer realm=\"r\"", false, "r", NULL, NULL},
    {"Bearer realm=\"first\",realm=\"second\"", false, "first", NULL, NULL},
    {"Bearer service=\"s\"", false, NULL, NULL, NULL},
    {"Bearer realm=\"open", false, "open", NULL, NULL},
    {"Bearer realm=\"x\\", false, "x\\", NULL, NULL},
    {"", false, NULL, NULL, NULL},
    {",,, ;;;", false, NULL, NULL, NULL},
    {"Digest realm=\"x\", nonce=\"Basic\"", false, NULL, NULL, NULL},
};

static void assert_text(const char *found, const char *wanted)
{
    if (wanted)
        assert_string_equal(found, wanted);
    else
        assert_null(found);
}

static void challenges_of_real_registries_are_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(challenges); i++) {
        cleanup_challenge struct challenge challenge = {0};

        print_message("%s\n", challenges[i].header);
        challenge_add(&challenge, challenges[i].header);
        assert_int_equal(challenge.is_basic, challenges[i].is_basic);
        assert_text(challenge.realm, challenges[i].realm);
        assert_text(challenge.service, challenges[i].service);
        assert_text(challenge.scope, challenges[i].scope);
    }
}

static void the_first_bearer_challenge_of_several_headers_counts(void **state)
{
    cleanup_challenge struct challenge challenge = {0};

    (void)state;
    challenge_add(&challenge, "Bearer realm=\"a\",error=\"insufficient_scope\"");
    challenge_add(&challenge, "Basic");
    challenge_add(&challenge, "Bearer realm=\"b\"");
    assert_string_equal(challenge.realm, "a");
    assert_true(challenge.is_basic);
    assert_true(challenge.is_insufficient_scope);
}

static void a_header_over_the_limit_is_ignored(void **state)
{
    cleanup_challenge struct challenge challenge = {0};
    char header[CHALLENGE_MAX_BYTES + 2];

    (void)state;
    memset(header, ' ', sizeof(header));
    memcpy(header, "Basic", 5);
    header[sizeof(header) - 1] = '\0';
    challenge_add(&challenge, header);
    assert_false(challenge.is_basic);
    header[sizeof(header) - 2] = '\0';
    challenge_add(&challenge, header);
    assert_true(challenge.is_basic);
}

static const struct {
    const char *registry, *realm;
    bool is_trusted;
} realms[] = {
    {"ghcr.io", "ghcr.io", true},
    {"docker.io", "auth.docker.io", true},
    {"registry.gitlab.com", "gitlab.com", true},
    {"localhost:5000", "localhost", true},
    {"127.0.0.1:5000", "127.0.0.1", true},
    {"[::1]:5000", "[::1]", true},
    {"GHCR.io", "ghcr.io", true},
    {"ghcr.io", "evil.example", false},
    {"ghcr.io", "ghcr.io.evil.example", false},
    {"ghcr.io", "notghcr.io", false},
    {"registry.example.com", "com", false}, /* a single label is not a registrable domain */
    {"a.example.com", "b.example.com", false},
    {"127.0.0.1:5000", "127.0.0.2", false},
    {"1.127.0.0.1", "127.0.0.1", false},
    {"localhost", "127.0.0.1", false},
    {"x.localhost", "localhost", false},
    {"", "", false},
};

static void a_realm_is_trusted_only_within_its_domain(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(realms); i++) {
        print_message("%s -> %s\n", realms[i].registry, realms[i].realm);
        assert_int_equal(auth_is_realm_of(realms[i].registry, realms[i].realm),
                         realms[i].is_trusted);
    }
}

static const struct {
    const char *url, *host; /* NULL: refused */
    bool is_https;
} urls[] = {
    {"https://Auth.Example/token", "auth.example", true},
    {"http://127.0.0.1:99/t?x=y", "127.0.0.1", false},
    {"https://[::1]:99/t", "[::1]", true},
    {"HTTPS://a?x", "a", true},
    {"https://good.example@evil.example/", NULL, false},
    {"https://a\\@b/", NULL, false},
    {"https:///x", NULL, false},
    {"https://a/#f", NULL, false},
    {"https://a b/", NULL, false},
    {"ftp://a/", NULL, false},
    {"//a/", NULL, false},
    {"", NULL, false},
};

static void invalid_realm_urls_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(urls); i++) {
        cleanup_realm struct realm realm = {0};
        struct error err = {0};
        int result = auth_parse_realm(urls[i].url, &realm, &err);

        print_message("%s\n", urls[i].url);
        assert_int_equal(result, urls[i].host ? 0 : -1);
        if (!urls[i].host)
            continue;
        assert_string_equal(realm.host, urls[i].host);
        assert_int_equal(realm.is_https, urls[i].is_https);
    }
}

static void a_token_request_has_one_parameter_per_scope(void **state)
{
    cleanup_free char *url = auth_token_url("https://a/t", "my reg", "repository:a/b:pull x:y");
    cleanup_free char *with_query = auth_token_url("https://a/t?k=v", NULL, "s");
    cleanup_free char *form = auth_refresh_form("s", "a b", "T&");

    (void)state;
    assert_string_equal(url,
                        "https://a/t?service=my%20reg&scope=repository%3Aa%2Fb%3Apull&scope=x%3Ay");
    assert_string_equal(with_query, "https://a/t?k=v&scope=s");
    assert_string_equal(form, "grant_type=refresh_token&service=s&client_id=longshore&scope=a%20b&"
                              "refresh_token=T%26");
}

static const struct {
    const char *answer, *token; /* NULL: refused */
    uint64_t life_ms;
} answers[] = {
    {"{\"token\": \"a\"}", "a", 60000},
    {"{\"token\": \"a\", \"access_token\": \"b\", \"expires_in\": 300}", "b", 300000},
    {"{\"token\": \"a\", \"expires_in\": 1}", "a", 60000},
    {"{\"token\": \"a\", \"expires_in\": 999999999999}", "a", 86400000},
    {"{\"token\": \"a\", \"expires_in\": -5}", "a", 60000},
    {"{\"access_token\": \"\", \"token\": \"a\"}", "a", 60000},
    {"{\"token\": \"a\\r\\nX: y\"}", NULL, 0},
    {"{\"token\": \"\"}", NULL, 0},
    {"{\"token\": 5}", NULL, 0},
    {"{}", NULL, 0},
    {"not json", NULL, 0},
};

static void tokens_that_are_invalid_in_a_header_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(answers); i++) {
        cleanup_wipe char *token = NULL;
        uint64_t life_ms = 0;
        struct error err = {0};
        int result =
            auth_parse_token(answers[i].answer, strlen(answers[i].answer), &token, &life_ms, &err);

        print_message("%s\n", answers[i].answer);
        assert_int_equal(result, answers[i].token ? 0 : -1);
        if (!answers[i].token)
            continue;
        assert_string_equal(token, answers[i].token);
        assert_int_equal(life_ms, answers[i].life_ms);
    }
}

static void a_token_server_without_tls_is_used_only_for_a_registry_without_tls(void **state)
{
    (void)state;
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        cleanup_realm struct realm https = {0};
        cleanup_realm struct realm http = {0};
        struct error err = {0};

        assert_int_equal(auth_check_realm("https://a/t", "r.io", is_plain, &https, &err), 0);
        assert_int_equal(auth_check_realm("http://a/t", "r.io", is_plain, &http, &err),
                         is_plain ? 0 : -1);
        if (!is_plain) {
            assert_int_equal(err.kind, ERROR_DENIED);
            assert_string_equal(err.text, "registry \"r.io\" refers to a token server without TLS");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_of_real_registries_are_parsed),
        cmocka_unit_test(the_first_bearer_challenge_of_several_headers_counts),
        cmocka_unit_test(a_header_over_the_limit_is_ignored),
        cmocka_unit_test(a_realm_is_trusted_only_within_its_domain),
        cmocka_unit_test(invalid_realm_urls_are_refused),
        cmocka_unit_test(a_token_request_has_one_parameter_per_scope),
        cmocka_unit_test(tokens_that_are_invalid_in_a_header_are_refused),
        cmocka_unit_test(a_token_server_without_tls_is_used_only_for_a_registry_without_tls),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
