/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/pod/ocm_credentials.h"
#include "deployer/tests/sample.h"

#define CREDENTIALS "type: credentials.config.ocm.software/v1\n"
#define CONSUMER(identity_, properties_)                                                           \
    "- {identity: {" identity_ "}, credentials: [{type: Credentials, properties: {" properties_    \
    "}}]}\n"

static const struct {
    const char *yaml, *auths;
} cases[] = {
    {CREDENTIALS, "{}"},
    {"type: other.config.ocm.software\nconsumers: [5]\n", "{}"},
    {CREDENTIALS
     "consumers:\n" CONSUMER("type: OCIRegistry, hostname: r.io", "username: u, password: p"),
     "{r.io: {username: u, password: p}}"},
    {CREDENTIALS
     "consumers:\n" CONSUMER("type: ociRegistry/v1, hostname: r.io, port: '5000', pathprefix: /a/b",
                             "identityToken: t"),
     "{'r.io:5000/a/b': {identitytoken: t}}"},
    /* the first of two entries is used; entries for anything but a registry, without a host, or
       without credentials are ignored */
    {CREDENTIALS "consumers:\n" CONSUMER("type: OCIRegistry, hostname: r.io", "username: a")
         CONSUMER("type: OCIRegistry, hostname: r.io", "username: b")
             CONSUMER("type: HelmChartRepository, hostname: h.io", "username: c")
                 CONSUMER("type: OCIRegistry", "username: d")
                     CONSUMER("type: OCIRegistry, hostname: e.io", "other: e"),
     "{r.io: {username: a}}"},
    {CREDENTIALS "repositories:\n- {repository: {type: DockerConfig/v1, dockerConfig: {auths: "
                 "{r.io: {auth: eA==}}}}}\n",
     "{r.io: {auth: eA==}}"},
    {CREDENTIALS "repositories:\n- {repository: {type: DockerConfig, dockerConfig: "
                 "'{\"auths\": {\"r.io\": {}}}'}}\n",
     "{r.io: {}}"},
    {"type: generic.config.ocm.software/v1\nconfigurations:\n- type: "
     "credentials.config.ocm.software\n  consumers:\n  " CONSUMER("type: oci, hostname: r.io",
                                                                  "username: u") "- 5\n",
     "{r.io: {username: u}}"},
};

static void consumers_become_entries_of_a_docker_config(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(cases); i++) {
        cleanup_json json_t *config = NULL;
        cleanup_json json_t *expected = sample_doc(cases[i].auths);
        struct error err = {0};

        if (ocm_credentials_docker_config(cases[i].yaml, strlen(cases[i].yaml), &config, &err) < 0)
            fail_msg("%s\n%s", cases[i].yaml, err.text);
        if (!json_equal(json_object_get(config, "auths"), expected))
            fail_msg("%s", cases[i].yaml);
    }
}

static void malformed_documents_are_refused_without_being_quoted(void **state)
{
    static const char *const wrong[] = {
        "canary", "[canary", "",
        CREDENTIALS "repositories: [{repository: {type: DockerConfig, dockerConfig: canary}}]",
        CREDENTIALS
        "repositories: [{repository: {type: DockerConfig, dockerConfig: {auths: canary}}}]"};

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        json_t *config = NULL;
        struct error err = {0};

        assert_int_equal(ocm_credentials_docker_config(wrong[i], strlen(wrong[i]), &config, &err),
                         -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_null(strstr(err.text, "canary"));
        assert_null(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consumers_become_entries_of_a_docker_config),
        cmocka_unit_test(malformed_documents_are_refused_without_being_quoted),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
