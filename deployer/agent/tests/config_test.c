/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"

#define HEAD "apiVersion: " AGENT_CONFIG_API_VERSION "\nkind: AgentConfiguration\n"

static struct agent_config *parse(const char *text, struct mistakes *mistakes)
{
    cleanup_json json_t *doc = NULL;
    struct agent_config *config = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &doc, &err), 0);
    if (agent_config_parse(doc, &config, mistakes) < 0)
        return NULL;
    return config;
}

static void fills_in_the_defaults_of_v098(void **state)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_agent_config struct agent_config *config = parse(HEAD "name: one\n", &mistakes);
    cleanup_free char *selectors = NULL;

    (void)state;
    assert_non_null(config);
    assert_int_equal(mistakes.count, 0);
    assert_string_equal(config->namespace_name, "ls-system");
    assert_string_equal(config->landscaper_namespace, "ls-system");
    assert_string_equal(config->credential_secret, "landscaper-agent-one");
    assert_true(config->is_host_access);
    assert_false(config->is_access_agent);
    assert_false(config->is_manual);
    assert_int_equal(config->token_seconds, 86400);
    assert_int_equal(config->heartbeat_seconds, 12); /* five requests per minute */
    selectors = doc_dump(config->target_selectors);
    assert_string_equal(selectors,
                        "[{\"annotations\":[{\"key\":\"landscaper.gardener.cloud/environment\","
                        "\"operator\":\"=\",\"values\":[\"one\"]}]}]");
}

/* The account is no administrator unless the configuration says so. */
static void grants_no_wildcards_by_default(void **state)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_agent_config struct agent_config *config = parse(HEAD "name: one\n", &mistakes);
    cleanup_free char *inner = doc_dump(config->namespace_rules);
    cleanup_free char *outer = doc_dump(config->cluster_rules);

    (void)state;
    assert_null(strchr(inner, '*'));
    assert_null(strchr(outer, '*'));
    assert_null(strstr(outer, "secrets"));
    assert_null(strstr(outer, "escalate"));
}

static void reads_every_field(void **state)
{
    cleanup_mistakes struct mistakes mistakes = {0};
    cleanup_agent_config struct agent_config *config =
        parse(HEAD "name: one\nnamespace: a\nlandscaperNamespace: b\ntargetSelectors: []\n"
                   "credentialSecret: c\nhostAccess: none\naccess: agent\nacceptance: manual\n"
                   "tokenSeconds: 600\ntypes: [example.com/x]\nhostRules:\n  namespace: []\n"
                   "  cluster:\n  - {apiGroups: ['*'], resources: ['*'], verbs: ['*']}\n",
              &mistakes);

    (void)state;
    assert_non_null(config);
    assert_string_equal(config->namespace_name, "a");
    assert_string_equal(config->landscaper_namespace, "b");
    assert_string_equal(config->credential_secret, "c");
    assert_false(config->is_host_access);
    assert_true(config->is_access_agent);
    assert_true(config->is_manual);
    assert_int_equal(config->token_seconds, 600);
    assert_int_equal(json_array_size(config->target_selectors), 0);
    assert_int_equal(json_array_size(config->namespace_rules), 0);
    assert_int_equal(json_array_size(config->cluster_rules), 1);
}

static void names_the_field_that_is_wrong(void **state)
{
    static const struct {
        const char *text, *problem;
    } wrong[] = {
        {HEAD, "name: Required value"},
        {HEAD "name: Not_A_Name\n", "name: Invalid value"},
        {"kind: AgentConfiguration\nname: one\n", "apiVersion: Required value"},
        {"apiVersion: v1\nkind: AgentConfiguration\nname: one\n", "apiVersion"},
        {HEAD "name: one\nhostAccess: maybe\n", "hostAccess"},
        {HEAD "name: one\ntokenSeconds: 5\n", "tokenSeconds"},
        {HEAD "name: one\nhostRules: {cluster: [{resources: [pods]}]}\n",
         "hostRules.cluster[0].verbs"},
        /* A misspelled field of the examples of v0.98. */
        {HEAD "name: one\ntargetSelectors: [{annotations: [{key: a, operation: exists}]}]\n",
         "targetSelectors[0].annotations[0]"},
        {HEAD "name: one\ntargetSelectors: [{annotations: [{key: a, operator: '=', values: "
              "['((x))']}]}]\n",
         "template expression"},
        {"[]", "AgentConfiguration"},
    };

    (void)state;
    for (size_t i = 0; i < array_length(wrong); i++) {
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_free char *text = NULL;

        assert_null(parse(wrong[i].text, &mistakes));
        text = mistakes_text(&mistakes);
        if (!strstr(text, wrong[i].problem))
            fail_msg("%zu: %s", i, text);
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
        cmocka_unit_test(fills_in_the_defaults_of_v098),
        cmocka_unit_test(grants_no_wildcards_by_default),
        cmocka_unit_test(reads_every_field),
        cmocka_unit_test(names_the_field_that_is_wrong),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
