/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/agent/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/contract.h"
#include "common/data/doc.h"
#include "deployer/registrations/kinds.h"

#define KUBECONFIG                                                                                 \
    "{\"current-context\":\"a\",\"clusters\":[{\"name\":\"a\",\"cluster\":{\"server\":"            \
    "\"https://ls.example:6443\",\"tls-server-name\":\"api\"}}],\"contexts\":[{\"name\":\"a\","    \
    "\"context\":{\"cluster\":\"a\",\"user\":\"a\"}}],\"users\":[{\"name\":\"a\",\"user\":{"       \
    "\"token\":\"given\"}}]}"

static struct agent_config *config_with(const char *more)
{
    cleanup_free char *text = xasprintf(
        "apiVersion: " AGENT_CONFIG_API_VERSION "\nkind: AgentConfiguration\nname: one\n%s", more);
    cleanup_json json_t *doc = NULL;
    cleanup_mistakes struct mistakes mistakes = {0};
    struct agent_config *config = NULL;
    struct error err = {0};

    assert_int_equal(doc_parse_yaml(text, strlen(text), 1 << 20, &doc, &err), 0);
    assert_int_equal(agent_config_parse(doc, &config, &mistakes), 0);
    return config;
}

static json_t *cluster(void)
{
    cleanup_kube_config struct kube_config *config = NULL;
    struct error err = {0};

    assert_int_equal(kube_config_from_text(KUBECONFIG, &config, &err), 0);
    return agent_cluster_config(config);
}

/* An Environment as the API server returns it. */
static json_t *stored(const json_t *wanted)
{
    json_t *environment = json_deep_copy(wanted);

    doc_set_text(environment, "metadata.uid", "uid-1");
    doc_set_text(environment, "metadata.resourceVersion", "7");
    return environment;
}

static void an_environment_is_valid_and_without_credentials(void **state)
{
    static const char *const modes[] = {"", "hostAccess: none\n", "access: agent\n"};

    (void)state;
    for (size_t i = 0; i < array_length(modes); i++) {
        cleanup_agent_config struct agent_config *config = config_with(modes[i]);
        cleanup_json json_t *landscaper = cluster();
        cleanup_json json_t *environment = agent_environment(config, landscaper, "cluster-1");
        cleanup_mistakes struct mistakes mistakes = {0};
        cleanup_free char *text = doc_dump(environment);

        environment_check(environment, &mistakes);
        assert_int_equal(mistakes.count, 0);
        assert_null(strstr(text, "given"));
        assert_string_equal(doc_text(environment, "spec.landscaperClusterConfig.serverName"),
                            "api");
        assert_int_equal(i == 1, doc_get(environment, "spec.hostTarget.secretRef") == NULL);
    }
}

static void changes_are_noticed_and_what_others_add_is_kept(void **state)
{
    cleanup_agent_config struct agent_config *config = config_with("");
    cleanup_json json_t *landscaper = cluster();
    cleanup_json json_t *wanted = agent_environment(config, landscaper, "cluster-1");
    cleanup_json json_t *environment = stored(wanted);
    cleanup_json json_t *patch = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    assert_true(agent_environment_is_current(environment, wanted));
    (void)json_object_set_new(doc_writable(doc_get(environment, "metadata.annotations")), "other",
                              json_string("kept"));
    (void)json_array_append_new(doc_writable(doc_get(environment, "metadata.finalizers")),
                                json_string(FINALIZER_MANAGEMENT));
    assert_true(agent_environment_is_current(environment, wanted));
    doc_set_text(environment, "spec.namespace", "elsewhere");
    assert_false(agent_environment_is_current(environment, wanted));
    patch = agent_environment_patch(environment, wanted);
    text = doc_dump(patch);
    assert_non_null(strstr(text, "\"/metadata/resourceVersion\",\"value\":\"7\""));
    assert_non_null(strstr(text, "kept"));
    assert_null(strstr(text, "/metadata/finalizers"));
    /* Only our finalizer is removed. */
    json_decref(patch);
    patch = agent_finalizer_patch(environment);
    free(text);
    text = doc_dump(patch);
    assert_non_null(strstr(text, FINALIZER_MANAGEMENT));
    assert_null(strstr(text, FINALIZER_AGENT));
}

static void an_environment_of_another_cluster_is_foreign_until_it_is_moved(void **state)
{
    cleanup_agent_config struct agent_config *config = config_with("");
    cleanup_json json_t *landscaper = cluster();
    cleanup_json json_t *wanted = agent_environment(config, landscaper, "cluster-1");
    cleanup_json json_t *environment = stored(wanted);
    cleanup_json json_t *old = json_pack("{s:{s:s}}", "metadata", "name", "one");

    (void)state;
    assert_false(agent_environment_is_foreign(environment, "cluster-1"));
    assert_true(agent_environment_is_foreign(environment, "cluster-2"));
    (void)json_object_set_new(doc_writable(doc_get(environment, "metadata.annotations")),
                              ANNOTATION_MOVE_TO, json_string("cluster-2"));
    assert_false(agent_environment_is_foreign(environment, "cluster-2"));
    assert_true(agent_environment_is_foreign(environment, "cluster-3"));
    /* What an agent of v0.98 registered is taken over. */
    assert_false(agent_environment_is_foreign(old, "cluster-2"));
    doc_set_text(old, "status.agent.clusterID", "cluster-1");
    assert_true(agent_environment_is_foreign(old, "cluster-2"));
}

static void acceptance_is_a_condition(void **state)
{
    cleanup_json json_t *environment = json_pack("{}");

    (void)state;
    assert_true(agent_environment_is_accepted(environment, false));
    assert_false(agent_environment_is_accepted(environment, true));
    doc_set_new(environment, "status.conditions",
                json_pack("[{s:s,s:s},{s:s,s:s}]", "type", "Valid", "status", "False", "type",
                          CONDITION_ACCEPTED, "status", "True"));
    assert_true(agent_environment_is_accepted(environment, true));
    doc_set_new(environment, "status.conditions",
                json_pack("[{s:s,s:s}]", "type", CONDITION_ACCEPTED, "status", "False"));
    assert_false(agent_environment_is_accepted(environment, false));
}

static void host_objects_refer_to_each_other(void **state)
{
    cleanup_agent_config struct agent_config *config = config_with("namespace: deployers\n");

    (void)state;
    for (size_t i = 0; i < HOST_OBJECT_COUNT; i++) {
        enum host_object which = (enum host_object)i;
        cleanup_json json_t *object = host_object_make(config, which);
        cleanup_json json_t *changed = json_deep_copy(object);

        assert_true(host_object_is_current(object, object));
        assert_true(host_object_is_owned(object, which));
        assert_int_equal(host_object_is_namespaced(which),
                         doc_text(object, "metadata.namespace") != NULL);
        if (!doc_member(object, "roleRef"))
            continue;
        assert_string_equal(doc_text(json_array_get(doc_member(object, "subjects"), 0), "name"),
                            "deployer-one");
        doc_set_text(changed, "roleRef.name", "cluster-admin");
        assert_false(host_object_is_current(changed, object));
        assert_true(host_object_needs_new(changed, object));
    }
}

static void without_rules_there_is_no_role(void **state)
{
    cleanup_agent_config struct agent_config *config =
        config_with("hostRules: {namespace: [], cluster: []}\n");

    (void)state;
    for (size_t i = HOST_ROLE; i < HOST_OBJECT_COUNT; i++)
        assert_null(host_object_make(config, (enum host_object)i));
}

static void a_role_of_somebody_else_is_not_ours(void **state)
{
    cleanup_json json_t *role = json_pack("{s:{s:s}}", "metadata", "name", "deployer-one");

    (void)state;
    assert_false(host_object_is_owned(role, HOST_ROLE));
    assert_false(host_object_is_owned(role, HOST_CLUSTER_ROLE));
    assert_true(host_object_is_owned(role, HOST_ACCOUNT));
}

static void secrets_contain_the_token_and_when_it_was_requested(void **state)
{
    const struct token_times times = {"2026-01-01T00:00:00Z", 3600};
    cleanup_agent_config struct agent_config *config = config_with("");
    cleanup_json json_t *host = cluster();
    cleanup_json json_t *target = agent_target_secret(config, host, "fresh", &times);
    cleanup_json json_t *access = agent_access_secret(config, "mock-one", host, "fresh", &times);
    cleanup_json json_t *own = agent_credential_secret(config, "fresh", "hash", &times);
    cleanup_json json_t *left = agent_left_secret(config, "uid-1");
    cleanup_wipe char *kubeconfig = agent_secret_value(access, "kubeconfig");
    cleanup_wipe char *token = agent_secret_value(own, "token");
    cleanup_json json_t *elsewhere = json_deep_copy(host);

    (void)state;
    assert_string_equal(doc_text(target, "metadata.name"), "one-target-access");
    assert_true(agent_target_secret_is_current(target, host));
    doc_set_text(elsewhere, "host", "https://other.example");
    assert_false(agent_target_secret_is_current(target, elsewhere));
    assert_string_equal(doc_text(access, "metadata.name"), "mock-one-landscaper-access");
    assert_null(strstr(kubeconfig, "fresh"));
    assert_non_null(strstr(kubeconfig, "tokenFile: /app/ls/landscaper-cluster-kubeconfig/token"));
    assert_string_equal(token, "fresh");
    assert_null(doc_member(left, "data"));
    assert_string_equal(
        json_string_value(doc_member(doc_get(left, "metadata.annotations"), ANNOTATION_LEFT)),
        "uid-1");
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
        cmocka_unit_test(an_environment_is_valid_and_without_credentials),
        cmocka_unit_test(changes_are_noticed_and_what_others_add_is_kept),
        cmocka_unit_test(an_environment_of_another_cluster_is_foreign_until_it_is_moved),
        cmocka_unit_test(acceptance_is_a_condition),
        cmocka_unit_test(host_objects_refer_to_each_other),
        cmocka_unit_test(without_rules_there_is_no_role),
        cmocka_unit_test(a_role_of_somebody_else_is_not_ours),
        cmocka_unit_test(secrets_contain_the_token_and_when_it_was_requested),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
