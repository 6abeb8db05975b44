/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/data/doc.h"
#include "common/oci/keyring.h"

/* Adds the text; the number of entries, or -1. */
static int add(struct keyring *keyring, const char *text, struct error *err)
{
    cleanup_json json_t *config = NULL;
    size_t helpers = 0;

    assert_int_equal(doc_parse_json(text, strlen(text), 1 << 20, &config, err), 0);
    return keyring_add_docker_config(keyring, "test.json", config, &helpers, err);
}

static const char many[] =
    "{\"auths\": {"
    "\"https://index.docker.io/v1/\": {\"username\": \"hub\", \"password\": \"p\"},"
    "\"h.example\": {\"username\": \"host\", \"password\": \"p\"},"
    "\"h.example:5000\": {\"username\": \"port\", \"password\": \"p\"},"
    "\"h.example/a\": {\"username\": \"a\", \"password\": \"p\"},"
    "\"https://h.example/a/b/\": {\"username\": \"ab\", \"password\": \"p\"},"
    "\"Upper.Example\": {\"username\": \"upper\", \"password\": \"p\"},"
    "\"p.example:443\": {\"username\": \"tls\", \"password\": \"p\"},"
    "\"[::1]:5000\": {\"username\": \"six\", \"password\": \"p\"}}}";

static const struct {
    const char *host, *repository, *user;
} lookups[] = {
    {"docker.io", "library/alpine", "hub"},
    {"index.docker.io", "library/alpine", "hub"},
    {"registry-1.docker.io", "org/x", "hub"},
    {"h.example", "x", "host"},
    {"h.example", "a", "a"},
    {"h.example", "a/x", "a"},
    {"h.example", "ab/x", "host"}, /* a segment, not a prefix of letters */
    {"h.example", "a/b/c", "ab"},
    {"h.example", "a/bc", "a"},      /* climbs back to the shorter path */
    {"h.example:5000", "x", "port"}, /* an exact port before none */
    {"h.example:5000", "a/x", "a"},  /* but a longer path before a port */
    {"h.example:6000", "x", "host"},
    {"upper.example", "x", "upper"},
    {"p.example", "x", "tls"},
    {"p.example:444", "x", NULL},
    {"[::1]:5000", "x", "six"},
    {"[::1]:5001", "x", NULL},
    {"other.example", "x", NULL},
    {"example", "x", NULL},
    {"", "x", NULL},
};

static void the_longest_path_then_the_port_decides(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};

    (void)state;
    assert_int_equal(add(keyring, many, &err), 8);
    for (size_t i = 0; i < array_length(lookups); i++) {
        const struct credential *found =
            keyring_find(keyring, lookups[i].host, lookups[i].repository);

        print_message("%s/%s\n", lookups[i].host, lookups[i].repository);
        if (lookups[i].user)
            assert_string_equal(found->username, lookups[i].user);
        else
            assert_null(found);
    }
}

static const char patterns[] =
    "{\"auths\": {"
    "\"*.example.com\": {\"username\": \"any\", \"password\": \"p\"},"
    "\"r.example.com\": {\"username\": \"own\", \"password\": \"p\"},"
    "\"*.example.com/team\": {\"username\": \"team\", \"password\": \"p\"},"
    "\"*.*.example.org:5000\": {\"username\": \"two\", \"password\": \"p\"},"
    "\"a?[0-9]-*.example.net\": {\"username\": \"class\", \"password\": \"p\"},"
    "\"https://one.example/v1/\": {\"username\": \"v1\", \"password\": \"p\"},"
    "\"https://two.example/v2/team\": {\"username\": \"v2\", \"password\": \"p\"},"
    "\"https://three.example/v2team/\": {\"username\": \"name\", \"password\": \"p\"}}}";

/* As the kubelet documents its config.json. */
static const struct {
    const char *host, *repository, *user;
} pattern_lookups[] = {
    {"a.example.com", "x", "any"},
    {"a.example.com:5000", "x", "any"},
    {"A.Example.com", "x", "any"},
    {"r.example.com", "x", "own"},       /* its own name before a pattern */
    {"r.example.com", "team/x", "team"}, /* but a longer path before a name */
    {"a.b.example.com", "x", NULL},      /* a star is one label */
    {"example.com", "x", NULL},
    {".example.com", "x", "any"},
    {"a.b.example.org:5000", "x", "two"},
    {"a.b.example.org", "x", NULL},
    {"a.example.org:5000", "x", NULL},
    {"ab1-.example.net", "x", "class"},
    {"ab1-x.example.net", "x", "class"},
    {"abc-x.example.net", "x", NULL},
    {"one.example", "x", "v1"},
    {"two.example", "team/x", "v2"},
    {"two.example", "v2/team", NULL},
    {"two.example", "x", NULL},
    {"three.example", "v2team/x", "name"},
    {"three.example", "x", NULL},
};

static void patterns_and_api_addresses_match_as_in_the_kubelet(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};

    (void)state;
    assert_int_equal(add(keyring, patterns, &err), 8);
    for (size_t i = 0; i < array_length(pattern_lookups); i++) {
        const struct credential *found =
            keyring_find(keyring, pattern_lookups[i].host, pattern_lookups[i].repository);

        print_message("%s/%s\n", pattern_lookups[i].host, pattern_lookups[i].repository);
        if (pattern_lookups[i].user) {
            assert_non_null(found);
            assert_string_equal(found->username, pattern_lookups[i].user);
        } else {
            assert_null(found);
        }
    }
    assert_int_equal(add(keyring, "{\"auths\": {\"[a.example\": {\"username\": \"u\"}}}", &err),
                     -1);
}

static void a_pattern_is_not_an_entry_for_a_host(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};

    (void)state;
    assert_int_equal(add(keyring, patterns, &err), 8);
    assert_null(keyring_find_host(keyring, "a.example.com"));
    assert_string_equal(keyring_find_host(keyring, "r.example.com")->username, "own");
}

static const struct {
    const char *entry, *user, *password;
} forms[] = {
    {"{\"auth\": \"dTpw\"}", "u", "p"},
    {"{\"auth\": \"dTpwOnE=\"}", "u", "p:q"}, /* only the first colon splits */
    {"{\"auth\": \"dTpwCg==\"}", "u", "p"},   /* "u:p\n" */
    {"{\"auth\": \"dTpwAAA=\"}", "u", "p"},   /* "u:p\0\0" */
    {"{\"auth\": \"dTo=\"}", "u", ""},
    {"{\"auth\": \"dTpw\", \"username\": \"x\", \"password\": \"y\"}", "u", "p"},
    {"{\"auth\": \"\", \"username\": \"x\", \"password\": \"y\\n\"}", "x", "y"},
    {"{\"Username\": \"x\", \"Password\": \"y\"}", "x", "y"},
    {"{\"username\": \"x\"}", "x", ""},
};

static void every_notation_of_a_password_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(forms); i++) {
        cleanup_keyring struct keyring *keyring = keyring_new();
        char text[256];
        struct error err = {0};
        const struct credential *found = NULL;

        (void)snprintf(text, sizeof(text), "{\"auths\": {\"h\": %s}}", forms[i].entry);
        print_message("%s\n", text);
        assert_int_equal(add(keyring, text, &err), 1);
        found = keyring_find(keyring, "h", "r");
        assert_string_equal(found->username, forms[i].user);
        assert_string_equal(found->password, forms[i].password);
    }
}

static void entries_without_credentials_are_skipped(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};

    (void)state;
    assert_int_equal(add(keyring, "{\"auths\": {\"h\": {\"email\": \"x\"}}}", &err), 0);
    assert_null(keyring_find(keyring, "h", "r"));
    assert_int_equal(add(keyring, "{\"auths\": {\"h\": {\"username\": \"first\"}}}", &err), 1);
    assert_int_equal(add(keyring, "{\"auths\": {\"h\": {\"username\": \"second\"}}}", &err), 1);
    assert_string_equal(keyring_find(keyring, "h", "r")->username, "first");
}

static void tokens_are_credentials_without_a_password(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};
    const struct credential *found = NULL;

    (void)state;
    assert_int_equal(add(keyring, "{\"auths\": {\"h\": {\"identitytoken\": \"i\"}}}", &err), 1);
    found = keyring_find(keyring, "h", "r");
    assert_null(found->username);
    assert_string_equal(found->identity_token, "i");
}

static void the_plain_map_of_dockercfg_is_read(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    struct error err = {0};

    (void)state;
    assert_int_equal(add(keyring, "{\"h\": {\"auth\": \"dTpw\"}}", &err), 1);
    assert_string_equal(keyring_find(keyring, "h", "r")->username, "u");
    assert_int_equal(add(keyring, "{\"auths\": null, \"credsStore\": \"x\"}", &err), 0);
}

static void helpers_are_counted(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_json json_t *config =
        json_pack("{s:s, s:{s:s, s:s}}", "credsStore", "x", "credHelpers", "a", "1", "b", "2");
    struct error err = {0};
    size_t helpers = 0;

    (void)state;
    assert_int_equal(keyring_add_docker_config(keyring, "o", config, &helpers, &err), 0);
    assert_int_equal(helpers, 3);
}

static const char *const wrong[] = {
    "[]",
    "{\"auths\": []}",
    "{\"auths\": {\"h\": \"SECRET\"}}",
    "{\"auths\": {\"h\": {\"auth\": \"SECRET!\"}}}",
    "{\"auths\": {\"h\": {\"auth\": \"U0VDUkVU\"}}}",     /* "SECRET": no colon */
    "{\"auths\": {\"h\": {\"auth\": \"OlNFQ1JFVA==\"}}}", /* ":SECRET": no user */
    "{\"auths\": {\"https:///x\": {\"username\": \"SECRET\"}}}",
};

static void an_address_without_a_host_is_refused(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    const struct credential credential = {.username = "user", .password = "SECRET"};
    struct error err = {0};

    (void)state;
    assert_int_equal(keyring_add(keyring, "https:///path", &credential, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text, "\"https:///path\" contains no registry host");
}

static void errors_do_not_contain_the_secret(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_keyring struct keyring *keyring = keyring_new();
        struct error err = {0};

        assert_int_equal(add(keyring, wrong[i], &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, "test.json"));
        assert_null(strstr(err.text, "SECRET"));
        assert_null(strstr(err.text, "U0VDUkVU"));
    }
}

static void the_config_for_the_kubelet_can_be_read_back(void **state)
{
    const struct credential given = {.username = "u", .password = "p", .registry_token = "r"};
    cleanup_json json_t *config = keyring_docker_config("docker.io", &given);
    cleanup_keyring struct keyring *keyring = keyring_new();
    const struct credential *found = NULL;
    struct error err = {0};
    size_t helpers = 0;

    (void)state;
    assert_non_null(doc_member(doc_member(config, "auths"), "https://index.docker.io/v1/"));
    assert_int_equal(keyring_add_docker_config(keyring, "o", config, &helpers, &err), 1);
    found = keyring_find(keyring, "docker.io", "library/x");
    assert_string_equal(found->username, "u");
    assert_string_equal(found->password, "p");
    assert_string_equal(found->registry_token, "r");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_path_then_the_port_decides),
        cmocka_unit_test(patterns_and_api_addresses_match_as_in_the_kubelet),
        cmocka_unit_test(a_pattern_is_not_an_entry_for_a_host),
        cmocka_unit_test(every_notation_of_a_password_is_read),
        cmocka_unit_test(entries_without_credentials_are_skipped),
        cmocka_unit_test(tokens_are_credentials_without_a_password),
        cmocka_unit_test(the_plain_map_of_dockercfg_is_read),
        cmocka_unit_test(helpers_are_counted),
        cmocka_unit_test(an_address_without_a_host_is_refused),
        cmocka_unit_test(errors_do_not_contain_the_secret),
        cmocka_unit_test(the_config_for_the_kubelet_can_be_read_back),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
