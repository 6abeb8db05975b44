/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/registrations/pair.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "deployer/registrations/kinds.h"
#include "deployer/registrations/tests/samples.h"
#include "deployer/tests/sample.h"

#define START_MS INT64_C(1767225600000) /* 2026-01-01 */
#define DAY_MS INT64_C(86400000)

/* A pair of texts, with the documents that belong to it. */
struct sample_pair {
    struct pair pair;
    json_t *environment, *registration;
};

static struct sample_pair make(const char *environment, const char *registration)
{
    struct sample_pair sample = {.environment = sample_doc(environment),
                                 .registration = sample_doc(registration)};

    sample.pair = (struct pair){.environment = sample.environment,
                                .registration = sample.registration,
                                .namespace_name = "ls-system",
                                .name = "mock-default",
                                .role = "landscaper:deployer"};
    return sample;
}

static void sample_pair_done(struct sample_pair *sample)
{
    json_decref(sample->environment);
    json_decref(sample->registration);
}
#define cleanup_pair __attribute__((cleanup(sample_pair_done)))

static void assert_doc(const json_t *found, const char *wanted)
{
    cleanup_json json_t *expected = sample_doc(wanted);
    cleanup_free char *text = doc_dump_sorted(found);
    cleanup_free char *expected_text = doc_dump_sorted(expected);

    assert_string_equal(text, expected_text);
}

/* ---- names ---- */

static void names_do_not_collide(void **state)
{
    static const char long_name[] = "a-deployer-with-a-very-long-name-that-somebody-has-chosen";
    cleanup_free char *plain = pair_name("mock", "default", false);
    cleanup_free char *taken = pair_name("a-b", "c", true);
    cleanup_free char *other = pair_name("a", "b-c", true);
    cleanup_free char *dotted = pair_name("a.b", "c", false);
    cleanup_free char *too_long = pair_name(long_name, "env", false);
    cleanup_free char *limit =
        pair_name("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "env", false);
    cleanup_json json_t *registrations = sample_doc("{a: 1, a-b: 1}");
    cleanup_json json_t *environments = sample_doc("{c: 1, b-c: 1, d: 1}");

    (void)state;
    assert_string_equal(plain, "mock-default");
    assert_string_not_equal(taken, other);
    assert_true(strncmp(taken, "a-b-c-", 6) == 0 && strncmp(other, "a-b-c-", 6) == 0);
    assert_null(strchr(dotted, '.'));
    assert_true(strlen(too_long) <= 58);
    assert_int_equal(strlen(limit), 58);
    assert_true(pair_name_is_ambiguous("a-b", "c", registrations, environments));
    assert_true(pair_name_is_ambiguous("a", "b-c", registrations, environments));
    assert_false(pair_name_is_ambiguous("a", "c", registrations, environments));
    assert_false(pair_name_is_ambiguous("a-b", "d", registrations, environments));
}

/* ---- objects ---- */

static void a_new_pair_is_what_v098_makes(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *expected = sample_doc(INSTALLATION);
    cleanup_json json_t *installation = pair_installation(&sample.pair);
    cleanup_json json_t *binding = pair_binding(&sample.pair);
    cleanup_json json_t *account = pair_account(&sample.pair);
    cleanup_json json_t *target = pair_target(&sample.pair, "TOKEN", START_MS, 5184000);
    cleanup_json json_t *host = pair_host_target(sample.environment, "ls-system");

    (void)state;
    assert_true(json_equal(doc_member(installation, "spec"), doc_member(expected, "spec")));
    assert_doc(doc_member(installation, "metadata"),
               "name: mock-default\n"
               "namespace: ls-system\n"
               "labels: {app.kubernetes.io/managed-by: longshore, "
               "deployers.landscaper.gardener.cloud/environment: default, "
               "deployers.landscaper.gardener.cloud/deployer-registration: mock}\n"
               "annotations: {landscaper.gardener.cloud/operation: reconcile, "
               "longshore.deployers.landscaper.gardener.cloud/environment: default, "
               "longshore.deployers.landscaper.gardener.cloud/registration: mock}\n"
               "finalizers: [finalizer.deployermanagement.landscaper.gardener.cloud]\n");
    assert_doc(doc_member(binding, "roleRef"), "{apiGroup: rbac.authorization.k8s.io, kind: "
                                               "ClusterRole, name: 'landscaper:deployer'}");
    assert_true(pair_binding_is_current(&sample.pair, binding));
    assert_null(doc_get(binding, "metadata.namespace"));
    assert_false(doc_bool_or(account, "automountServiceAccountToken", true));
    assert_true(pair_target_is_current(&sample.pair, target));
    assert_true(pair_host_target_is_current(sample.environment, host));
    assert_true(pair_owns(&sample.pair, binding, NULL) && pair_owns(&sample.pair, account, NULL) &&
                pair_owns(&sample.pair, target, NULL));
}

static void objects_of_v098_are_adopted_without_a_write(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *target = sample_doc(TARGET);
    cleanup_json json_t *binding = sample_doc(BINDING);
    cleanup_json json_t *host = sample_doc(HOST_TARGET);
    const char *registration = NULL;
    const char *environment = NULL;

    (void)state;
    assert_null(pair_installation_patch(&sample.pair, installation));
    assert_true(pair_target_is_current(&sample.pair, target));
    assert_true(pair_binding_is_current(&sample.pair, binding));
    assert_true(pair_host_target_is_current(sample.environment, host));
    assert_true(pair_of_object(installation, &registration, &environment));
    assert_string_equal(registration, "mock");
    assert_string_equal(environment, "default");
    assert_true(pair_owns(&sample.pair, target, "inst-uid"));
    assert_true(pair_owns(&sample.pair, binding, "inst-uid"));
    assert_true(pair_owns_host_target(sample.environment, host));
    assert_int_equal(pair_renewal_unix_ms(target, START_MS), 0);
}

static void foreign_objects_are_not_ours(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *target = sample_doc(TARGET);
    cleanup_json json_t *binding = sample_doc(BINDING);
    cleanup_json json_t *other =
        sample_doc("{kind: ServiceAccount, metadata: {name: mock-default, annotations: "
                   "{longshore.deployers.landscaper.gardener.cloud/environment: other, "
                   "longshore.deployers.landscaper.gardener.cloud/registration: mock}}}");
    cleanup_json json_t *plain =
        sample_doc("{kind: ServiceAccount, metadata: {name: mock-default}}");

    (void)state;
    assert_false(pair_owns(&sample.pair, target, "another-uid"));
    assert_false(pair_owns(&sample.pair, target, NULL));
    assert_false(pair_owns(&sample.pair, other, NULL));
    assert_false(pair_owns(&sample.pair, plain, "inst-uid"));
    doc_set_text(binding, "roleRef.name", "cluster-admin");
    assert_false(pair_owns(&sample.pair, binding, "inst-uid"));
}

/* ---- changes ---- */

static const struct {
    const char *name, *environment, *registration;
    const char *path; /* of the step of the patch that changes something */
} changes[] = {
    {"another version", ENVIRONMENT,
     "metadata: {name: mock}\nspec: {installationTemplate: {componentDescriptor: {ref: "
     "{componentName: "
     "example.com/mock, version: v2.0.0}}, blueprint: {ref: {resourceName: "
     "mock-deployer-blueprint}}, "
     "importDataMappings: {values: {}}}}\n",
     "/spec/componentDescriptor"},
    {"other values", ENVIRONMENT,
     REGISTRATION_OF("mock", "    importDataMappings: {values: {a: 1}}\n"),
     "/spec/importDataMappings"},
    {"a mapping less", ENVIRONMENT, REGISTRATION_OF("mock", ""), "/spec/importDataMappings"},
    {"an import more", ENVIRONMENT,
     REGISTRATION_OF("mock", "    importDataMappings: {values: {}}\n"
                             "    imports: {data: [{name: a, dataRef: b}]}\n"),
     "/spec/imports"},
    {"no component", ENVIRONMENT,
     "metadata: {name: mock}\nspec: {installationTemplate: {blueprint: {ref: {resourceName: "
     "mock-deployer-blueprint}}, importDataMappings: {values: {}}}}\n",
     "/spec/componentDescriptor"},
};

static void a_change_is_one_patch_that_triggers_a_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(changes); i++) {
        cleanup_pair struct sample_pair sample =
            make(changes[i].environment, changes[i].registration);
        cleanup_json json_t *installation = sample_doc(INSTALLATION);
        cleanup_json json_t *patch = pair_installation_patch(&sample.pair, installation);
        cleanup_free char *text = patch ? doc_dump_sorted(patch) : NULL;

        /* Whether it is the same object, annotations, the change, the operation. */
        if (!patch || json_array_size(patch) != 4)
            fail_msg("%s: %s", changes[i].name, text ? text : "no patch");
        assert_doc(json_array_get(patch, 0), "{op: test, path: /metadata/uid, value: inst-uid}");
        assert_string_equal(doc_text(json_array_get(patch, 2), "path"), changes[i].path);
        assert_doc(
            json_array_get(patch, 3),
            "{op: add, path: /metadata/annotations/landscaper.gardener.cloud~1operation, value: "
            "reconcile}");
    }
}

static void equal_meanings_are_no_change(void **state)
{
    cleanup_pair struct sample_pair sample =
        make(ENVIRONMENT, REGISTRATION_OF("mock", "    importDataMappings: {values: {}}\n"
                                                  "    imports: {data: [], targets: []}\n"));
    cleanup_json json_t *installation = sample_doc(INSTALLATION);

    (void)state;
    /* Fields that others set, and an empty list of data imports. */
    doc_set_text(installation, "spec.context", "default");
    doc_set_new(installation, "spec.automaticReconcile", json_object());
    doc_set_new(installation, "spec.imports.data", json_array());
    assert_null(pair_installation_patch(&sample.pair, installation));
}

static void a_missing_finalizer_is_added_without_a_job(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *patch = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    (void)json_object_del(json_object_get(installation, "metadata"), "finalizers");
    patch = pair_installation_patch(&sample.pair, installation);
    assert_non_null(patch);
    text = doc_dump(patch);
    assert_non_null(strstr(text, "/metadata/finalizers/-"));
    assert_null(strstr(text, "operation"));
}

static void a_renewed_token_restarts_the_deployer(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *installation = sample_doc(INSTALLATION);
    cleanup_json json_t *spec = NULL;
    cleanup_json json_t *patch = NULL;
    cleanup_json json_t *target = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    sample.pair.renewals = 1;
    spec = pair_installation_spec(&sample.pair);
    assert_doc(
        doc_get(spec, "importDataMappings.values"),
        "{podAnnotations: {longshore.deployers.landscaper.gardener.cloud/token-renewals: '1'}}");
    patch = pair_installation_patch(&sample.pair, installation);
    text = doc_dump(patch);
    assert_non_null(strstr(text, "token-renewals\",\"value\":\"1\""));
    assert_non_null(strstr(text, "~1operation"));
    target = pair_target(&sample.pair, "T", START_MS, 2 * DAY_MS / 1000);
    assert_int_equal(pair_renewal_unix_ms(target, START_MS), START_MS + DAY_MS);
}

static void an_interrupted_job_continues_once(void **state)
{
    cleanup_json json_t *installation =
        sample_doc("{metadata: {uid: u, annotations: {" ANNOTATION_INTERRUPTED ": job-1}}}");
    cleanup_json json_t *patch = pair_operation_patch(installation, OPERATION_ANNOTATION_RECONCILE,
                                                      ANNOTATION_PROVIDERS, "hash");
    cleanup_free char *text = doc_dump(patch);

    (void)state;
    assert_non_null(strstr(text, "interrupted-job\",\"value\":\"\""));
}

static void the_jobs_of_providers_are_recorded_with_each_job(void **state)
{
    cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);
    cleanup_json json_t *same = sample_doc(INSTALLATION);
    cleanup_json json_t *installation = NULL;
    cleanup_json json_t *patch = NULL;
    cleanup_free char *text = NULL;

    (void)state;
    sample.pair.providers = "hash";
    assert_null(pair_installation_patch(&sample.pair, same)); /* alone it is no reason for a job */
    installation = pair_installation(&sample.pair);
    assert_string_equal(json_string_value(json_object_get(
                            doc_get(installation, "metadata.annotations"), ANNOTATION_PROVIDERS)),
                        "hash");
    sample.pair.renewals = 2;
    patch = pair_installation_patch(&sample.pair, same);
    text = doc_dump(patch);
    assert_non_null(strstr(text, "providers\",\"value\":\"hash\""));
}

/* ---- Landscaper's cluster ---- */

static const struct {
    const char *config, *cluster;
} clusters[] = {
    {"{host: 'https://a.example:6443', apiPath: ''}", "{server: 'https://a.example:6443'}"},
    {"{host: 'a.example:6443', apiPath: /x}", "{server: 'https://a.example:6443/x'}"},
    {"{host: 'https://10.0.0.1', apiPath: '', serverName: a.example, caData: QUJD}",
     "{server: 'https://10.0.0.1', tls-server-name: a.example, certificate-authority-data: QUJD}"},
    {"{host: 'https://a.example', apiPath: '', insecure: true}",
     "{server: 'https://a.example', insecure-skip-tls-verify: true}"},
};

static void the_kubeconfig_has_every_setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(clusters); i++) {
        cleanup_json json_t *environment = sample_doc("{metadata: {name: e}, spec: {}}");
        cleanup_json json_t *config = NULL;
        cleanup_free char *text = NULL;

        doc_set_new(environment, "spec.landscaperClusterConfig", sample_doc(clusters[i].config));
        text = pair_kubeconfig(environment, "to: ken");
        config = sample_doc(text);
        assert_doc(doc_member(json_array_get(doc_member(config, "clusters"), 0), "cluster"),
                   clusters[i].cluster);
        assert_string_equal(doc_text(json_array_get(doc_member(config, "users"), 0), "user.token"),
                            "to: ken");
    }
}

static void another_address_needs_another_target(void **state)
{
    static const char *const others[] = {
        "{host: 'https://other:6443', apiPath: '', caData: QUJD}",
        "{host: 'https://ls.example:6443', apiPath: '', caData: QUJE}",
        "{host: 'https://ls.example:6443', apiPath: /a, caData: QUJD}",
        "{host: 'https://ls.example:6443', apiPath: '', caData: QUJD, serverName: b}"};
    cleanup_json json_t *target = sample_doc(TARGET);

    (void)state;
    for (size_t i = 0; i < array_length(others); i++) {
        cleanup_pair struct sample_pair sample = make(ENVIRONMENT, REGISTRATION);

        doc_set_new(sample.environment, "spec.landscaperClusterConfig", sample_doc(others[i]));
        assert_false(pair_target_is_current(&sample.pair, target));
    }
}

/* ---- selectors and templates ---- */

static void the_helm_deployer_leaves_items_of_deployers_to_the_agent(void **state)
{
    cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
    cleanup_json json_t *helm = registration_selectors(environment, "helm");
    cleanup_json json_t *mock = registration_selectors(environment, "mock");

    (void)state;
    assert_doc(helm, "- annotations: [{key: landscaper.gardener.cloud/environment, operator: '=', "
                     "values: [default]}, {key: landscaper.gardener.cloud/deployer-only, operator: "
                     "'!'}]");
    assert_true(json_equal(mock, doc_get(environment, "spec.targetSelectors")));
    assert_true(registration_serves_host(environment, "mock", "ls-system"));
    assert_false(registration_serves_host(environment, "helm", "ls-system"));
}

/* Every text of an Environment that becomes part of an Installation or kubeconfig. */
static const struct {
    const char *path, *value;
} injections[] = {
    {"spec.namespace", "(( x ))"},
    {"spec.landscaperClusterConfig.host", "((x))"},
    {"spec.landscaperClusterConfig.apiPath", "/((x"},
    {"spec.landscaperClusterConfig.serverName", "((!"},
    {"spec.targetSelectors", "[{annotations: [{key: a, operator: '=', values: ['a((b']}]}]"},
    {"spec.targetSelectors", "[{annotations: [{key: '((', operator: exists}]}]"},
    {"spec.targetSelectors", "[{labels: [{key: a, operator: '((x))'}]}]"},
    {"spec.targetSelectors", "[{targets: [{name: a, namespace: '((x))'}]}]"},
    {"spec.targetSelectors", "[{'(( x ))': 1}]"},
};

static void template_expressions_of_an_agent_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(injections); i++) {
        cleanup_json json_t *environment = sample_doc(ENVIRONMENT);
        cleanup_mistakes struct mistakes before = {0};
        cleanup_mistakes struct mistakes after = {0};
        bool is_list = injections[i].value[0] == '[';

        environment_check(environment, &before);
        assert_int_equal(before.errors, 0);
        doc_set_new(environment, injections[i].path,
                    is_list ? sample_doc(injections[i].value) : json_string(injections[i].value));
        environment_check(environment, &after);
        if (after.errors == 0)
            fail_msg("accepted: %s %s", injections[i].path, injections[i].value);
    }
}

/* ---- phases ---- */

static const struct {
    const char *status;
    bool is_finished, is_ready;
} phases[] = {
    {"{}", false, false},
    {"{phase: Succeeded, jobID: a, jobIDFinished: a, observedGeneration: 1}", true, true},
    {"{phase: Failed, jobID: a, jobIDFinished: a, observedGeneration: 1}", true, false},
    {"{phase: Succeeded, jobID: b, jobIDFinished: a, observedGeneration: 1}", false, false},
    {"{phase: Succeeded, jobID: a, jobIDFinished: a, observedGeneration: 0}", false, false},
};

static void phases_of_installations(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(phases); i++) {
        cleanup_json json_t *installation = sample_doc(INSTALLATION);

        doc_set_new(installation, "status", sample_doc(phases[i].status));
        assert_int_equal(installation_is_finished(installation), phases[i].is_finished);
        assert_int_equal(installation_is_ready(installation), phases[i].is_ready);
        /* Triggered, but Landscaper has not seen it yet. */
        doc_set_new(installation, "metadata.annotations",
                    json_pack("{s:s}", ANNOTATION_OPERATION, "reconcile"));
        assert_false(installation_is_finished(installation));
    }
}

static void it_is_uninstalled_when_only_our_finalizer_is_left(void **state)
{
    cleanup_json json_t *installation = sample_doc(INSTALLATION);

    (void)state;
    doc_set_new(installation, "metadata.finalizers", json_pack("[s]", FINALIZER_MANAGEMENT));
    assert_false(installation_is_uninstalled(installation));
    doc_set_text(installation, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
    assert_true(installation_is_uninstalled(installation));
    doc_set_new(installation, "metadata.finalizers",
                json_pack("[s,s]", FINALIZER_MANAGEMENT, FINALIZER_DEPLOY_ITEM));
    assert_false(installation_is_uninstalled(installation));
    doc_set_new(installation, "metadata.finalizers", json_pack("[s]", FINALIZER_DEPLOY_ITEM));
    assert_false(installation_is_uninstalled(installation));
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
        cmocka_unit_test(names_do_not_collide),
        cmocka_unit_test(a_new_pair_is_what_v098_makes),
        cmocka_unit_test(objects_of_v098_are_adopted_without_a_write),
        cmocka_unit_test(foreign_objects_are_not_ours),
        cmocka_unit_test(a_change_is_one_patch_that_triggers_a_job),
        cmocka_unit_test(equal_meanings_are_no_change),
        cmocka_unit_test(a_missing_finalizer_is_added_without_a_job),
        cmocka_unit_test(a_renewed_token_restarts_the_deployer),
        cmocka_unit_test(an_interrupted_job_continues_once),
        cmocka_unit_test(the_jobs_of_providers_are_recorded_with_each_job),
        cmocka_unit_test(the_kubeconfig_has_every_setting),
        cmocka_unit_test(another_address_needs_another_target),
        cmocka_unit_test(the_helm_deployer_leaves_items_of_deployers_to_the_agent),
        cmocka_unit_test(template_expressions_of_an_agent_are_rejected),
        cmocka_unit_test(phases_of_installations),
        cmocka_unit_test(it_is_uninstalled_when_only_our_finalizer_is_left),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
