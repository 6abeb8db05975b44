/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/component/ocmconfig.h"
#include "common/data/doc.h"

static const char whole[] =
    "type: generic.config.ocm.software/v1\n"
    "configurations:\n"
    "- type: ocm.config.ocm.software\n"
    "  resolvers:\n"
    "  - {repository: {type: oci, baseUrl: low}, priority: 1}\n"
    "  - {repository: {type: oci, baseUrl: any}}\n"
    "  - {repository: {type: oci, baseUrl: short}, prefix: example.com}\n"
    "  - {repository: {type: oci, baseUrl: long}, prefix: example.com/acme/}\n"
    "  - {repository: {type: oci, baseUrl: greater}, prefix: example.org/acme}\n"
    "  - {repository: {type: oci, baseUrl: high}, priority: 20}\n"
    "- type: generic.config.ocm.software\n"
    "  configurations:\n"
    "  - type: credentials.config.ocm.software/v1\n"
    "    consumers:\n"
    "    - identity: {type: OCIRegistry, hostname: h.example, port: \"5000\", pathprefix: a/b}\n"
    "      credentials:\n"
    "      - {type: Credentials/v1, properties: {username: u, password: p, "
    "certificateAuthority: CA}}\n"
    "    - identity: {type: Github, hostname: github.com}\n"
    "      credentials: [{type: Credentials, properties: {username: g}}]\n"
    "    repositories:\n"
    "    - repository: {type: DockerConfig/v1, dockerConfigFile: /x/config.json}\n"
    "    - repository: {type: DockerConfig, dockerConfig: {auths: {d.example: {username: d}}}}\n"
    "    - repository: {type: HashiCorpVault, serverURL: x}\n"
    "- type: rootcerts.config.ocm.software/v1alpha1\n"
    "  rootCertificates: [{stringdata: ONE}, {data: VFdP}]\n"
    "- type: attributes.config.ocm.software\n"
    "  attributes: {x: y}\n";

static void resolvers_are_sorted_by_priority_and_prefix(void **state)
{
    static const char *const order[] = {"high", "greater", "long", "short", "any", "low"};
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_ocmconfig struct ocmconfig config = {0};
    struct error err = {0};

    (void)state;
    if (ocmconfig_parse(whole, strlen(whole), keyring, &config, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(config.resolver_count, array_length(order));
    for (size_t i = 0; i < array_length(order); i++)
        assert_string_equal(doc_text(config.resolvers[i].repository, "baseUrl"), order[i]);
}

static void prefixes_match_whole_segments(void **state)
{
    static const struct {
        const char *prefix, *name;
        bool is_match;
    } cases[] = {
        {"", "example.com/a", true},
        {"example.com", "example.com/a", true},
        {"example.com/a", "example.com/a", true},
        {"example.com/a", "example.com/ab", false},
        {"example.com/a", "example.com", false},
        {"example.co", "example.com/a", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        char prefix[64];
        struct ocm_resolver resolver = {.prefix = prefix};

        (void)snprintf(prefix, sizeof(prefix), "%s", cases[i].prefix);
        assert_int_equal(ocm_resolver_matches(&resolver, cases[i].name), cases[i].is_match);
    }
}

static void only_credentials_of_registries_are_read(void **state)
{
    cleanup_keyring struct keyring *keyring = keyring_new();
    cleanup_ocmconfig struct ocmconfig config = {0};
    struct error err = {0};
    const struct credential *found = NULL;

    (void)state;
    assert_int_equal(ocmconfig_parse(whole, strlen(whole), keyring, &config, &err), 0);
    found = keyring_find(keyring, "h.example:5000", "a/b/c");
    assert_string_equal(found->username, "u");
    assert_string_equal(found->password, "p");
    assert_string_equal(found->ca_pem, "CA");
    assert_null(keyring_find(keyring, "h.example:5000", "a/c"));
    assert_null(keyring_find(keyring, "github.com", "x"));
    assert_string_equal(keyring_find(keyring, "d.example", "x")->username, "d");
    assert_int_equal(config.docker_config_file_count, 1);
    assert_string_equal(config.docker_config_files[0], "/x/config.json");
    assert_string_equal(config.ca_pem.data, "ONE\nTWO\n");
}

static void a_single_or_empty_configuration_is_accepted(void **state)
{
    static const struct {
        const char *text;
        size_t resolvers;
    } cases[] = {
        {"type: ocm.config.ocm.software/v1\nresolvers: [{repository: {type: oci}}]", 1},
        {"", 0},
        {"# nothing\n", 0},
        {"type: something.else", 0},
    };

    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_keyring struct keyring *keyring = keyring_new();
        cleanup_ocmconfig struct ocmconfig config = {0};
        struct error err = {0};

        assert_int_equal(
            ocmconfig_parse(cases[i].text, strlen(cases[i].text), keyring, &config, &err), 0);
        assert_int_equal(config.resolver_count, cases[i].resolvers);
    }
}

static const struct {
    const char *text, *why;
} wrong[] = {
    {"[]", "expected an object with a type"},
    {"{}", "expected an object with a type"},
    {"type: generic.config.ocm.software\nconfigurations: x", "configurations: expected a list"},
    {"type: generic.config.ocm.software\nconfigurations: [{}]", "configurations[0]"},
    {"type: ocm.config.ocm.software\nresolvers: [{}]", "resolvers[0]: repository"},
    {"type: ocm.config.ocm.software\nresolvers: [{repository: {type: x}, priority: a}]",
     "priority"},
    {"type: rootcerts.config.ocm.software\nrootCertificates: [{}]", "rootCertificates[0]"},
    {"type: credentials.config.ocm.software\nrepositories: [{repository: {type: DockerConfig, "
     "dockerConfig: {auths: {h: {auth: SECRET}}}}}]",
     "repositories[0]"},
    {"a: [", "line"},
};

static void errors_name_the_entry_without_secrets(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_keyring struct keyring *keyring = keyring_new();
        struct ocmconfig config = {0};
        struct error err = {0};

        print_message("%s\n", wrong[i].text);
        assert_int_equal(
            ocmconfig_parse(wrong[i].text, strlen(wrong[i].text), keyring, &config, &err), -1);
        if (!strstr(err.text, wrong[i].why))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].why, err.text);
        assert_null(strstr(err.text, "SECRET"));
        assert_null(config.resolvers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolvers_are_sorted_by_priority_and_prefix),
        cmocka_unit_test(prefixes_match_whole_segments),
        cmocka_unit_test(only_credentials_of_registries_are_read),
        cmocka_unit_test(a_single_or_empty_configuration_is_accepted),
        cmocka_unit_test(errors_name_the_entry_without_secrets),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
