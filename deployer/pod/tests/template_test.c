/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "deployer/pod/inputs.h"
#include "deployer/tests/invariants.h"
#include "deployer/tests/sample.h"

static json_t *make(const struct pod_request *request)
{
    cleanup_pod_objects struct pod_objects objects = {0};
    struct error err = {0};

    if (pod_objects_make(request, &objects, &err) < 0)
        fail_msg("%s", err.text);
    return json_incref(objects.pod);
}

static json_t *make_plain(const char *type, const char *config, const char *provider)
{
    cleanup_sample_run struct sample_run sample = {0};

    sample_run_init(&sample, type, config, provider);
    return make(&sample.request);
}

static const json_t *container(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};

    for (size_t i = 0; i < array_length(lists); i++) {
        const json_t *list = doc_get(pod, lists[i]);

        for (size_t j = 0; j < json_array_size(list); j++) {
            if (strcmp(doc_text_or(json_array_get(list, j), "name", ""), name) == 0)
                return json_array_get(list, j);
        }
    }
    return NULL;
}

/* "NAME=value NAME=<field> ..." */
static char *env_text(const json_t *of)
{
    const json_t *env = doc_member(of, "env");
    char *text = xstrdup("");

    for (size_t i = 0; i < json_array_size(env); i++) {
        const json_t *entry = json_array_get(env, i);
        const char *field = doc_text(entry, "valueFrom.fieldRef.fieldPath");
        char *longer = xasprintf("%s%s=%s%s%s ", text, doc_text(entry, "name"), field ? "<" : "",
                                 field ? field : doc_text(entry, "value"), field ? ">" : "");

        free(text);
        text = longer;
    }
    return text;
}

#define COMMON_ENV                                                                                 \
    "IMPORTS_PATH=/data/ls/shared/imports/import.json "                                            \
    "EXPORTS_PATH=/data/ls/shared/exports/values "                                                 \
    "COMPONENT_DESCRIPTOR_PATH=/data/ls/shared/component_descriptor.json "                         \
    "TARGET_PATH=/data/ls/shared/targets/target.json CONTENT_PATH=/data/ls/shared/content "        \
    "STATE_PATH=/data/ls/shared/state POD_NAME=<metadata.name> "                                   \
    "POD_NAMESPACE=<metadata.namespace> "

static void the_environment_follows_the_contract_in_order(void **state)
{
    cleanup_json json_t *pod = make_plain(DEPLOY_ITEM_TYPE_CONTAINER,
                                          "oci: {allowPlainHttp: true, insecureSkipVerify: true}",
                                          "{image: a, env: [{name: MINE, value: x}]}");
    cleanup_free char *init = env_text(container(pod, "init"));
    cleanup_free char *main_env = env_text(container(pod, "main"));
    cleanup_free char *wait = env_text(container(pod, "wait"));
    cleanup_object_names struct object_names names = {0};
    cleanup_free char *wanted = NULL;

    (void)state;
    assert_string_equal(
        init, COMMON_ENV
        "CONFIGURATION_PATH=/data/ls/internal/configuration.json DEPLOY_ITEM_NAME=job "
        "DEPLOY_ITEM_NAMESPACE=team REGISTRY_SECRETS_DIR=/data/ls/registry_secrets "
        "OCM_CONFIGURATION_PATH=/data/ls/ocm/.ocmconfig LONGSHORE_JOB_ID=" SAMPLE_JOB
        " LONGSHORE_STATE_SOURCE_DIR=/data/ls/state_source LONGSHORE_OCI_ALLOW_PLAIN_HTTP=true "
        "LONGSHORE_OCI_INSECURE_SKIP_VERIFY=true ");
    assert_string_equal(main_env,
                        COMMON_ENV "OPERATION=RECONCILE EXPORT_PATH=/data/ls/shared/exports/values "
                                   "STATE=/data/ls/shared/state MINE=x ");
    object_names_init(&names, "team", "job", NULL);
    wanted =
        xasprintf(COMMON_ENV "DEPLOY_ITEM_NAME=job DEPLOY_ITEM_NAMESPACE=team "
                             "LONGSHORE_JOB_ID=" SAMPLE_JOB " LONGSHORE_POD_UID=<metadata.uid> "
                             "LONGSHORE_EXPORT_NAME=team-job-export LONGSHORE_REPORT_NAME=%s "
                             "LONGSHORE_STATE_NAME_PREFIX=state-team-job LONGSHORE_STATE_SEQUENCE= "
                             "LONGSHORE_STATE_SHA256= LONGSHORE_STATE_NEXT_SEQUENCE=1 "
                             "LONGSHORE_MAIN_GRACE_SECONDS=30 ",
                  names.report);
    assert_string_equal(wait, wanted);
}

/* Only with a component descriptor init accesses registries. */
static void init_gets_the_variables_and_certificates_of_the_configuration(void **state)
{
    static const char config[] = "{oci: {caBundle: pem}, initContainer: {env: [{name: HTTPS_PROXY, "
                                 "value: p}]}, waitContainer: {env: [{name: W, value: w}]}}";
    static const char provider[] =
        "{image: a, componentDescriptor: {ref: {repositoryContext: {type: ociRegistry, baseUrl: "
        "registry.example/x}, componentName: example.com/a, version: 1.0.0}}}";
    cleanup_json json_t *without = make_plain(DEPLOY_ITEM_TYPE_CONTAINER, config, "{image: a}");
    cleanup_json json_t *with = make_plain(DEPLOY_ITEM_TYPE_CONTAINER, config, provider);
    cleanup_free char *init_without = env_text(container(without, "init"));
    cleanup_free char *init_with = env_text(container(with, "init"));
    cleanup_free char *wait = env_text(container(with, "wait"));
    cleanup_free char *main_env = env_text(container(with, "main"));
    cleanup_free char *mounts = doc_dump(doc_get(container(with, "init"), "volumeMounts"));

    (void)state;
    assert_non_null(strstr(init_without, "HTTPS_PROXY=p "));
    assert_null(strstr(init_without, "SSL_CERT_DIR"));
    assert_non_null(strstr(init_with, "SSL_CERT_DIR=/etc/ssl/certs:/data/ls/ca HTTPS_PROXY=p "));
    assert_non_null(strstr(mounts, "\"/data/ls/ca\""));
    assert_non_null(strstr(wait, "W=w "));
    assert_null(strstr(wait, "HTTPS_PROXY"));
    assert_null(strstr(main_env, "HTTPS_PROXY"));
}

static void a_pod_has_the_labels_and_annotations_of_go_and_ours(void **state)
{
    cleanup_json json_t *pod =
        make_plain(DEPLOY_ITEM_TYPE_CONTAINER, "{identity: id, namespace: host}", "{image: a}");
    const json_t *labels = doc_get(pod, "metadata.labels");
    const json_t *annotations = doc_get(pod, "metadata.annotations");

    (void)state;
    assert_string_equal(doc_text(pod, "metadata.namespace"), "host");
    assert_null(doc_get(pod, "metadata.generateName"));
    assert_string_equal(json_string_value(doc_member(labels, LABEL_ITEM_GENERATION)), "3");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_ITEM_NAME)), "job");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_ITEM_NAMESPACE)), "team");
    assert_string_equal(json_string_value(doc_member(labels, LABEL_DEPLOYER_ID)), "id");
    assert_string_equal(json_string_value(json_array_get(doc_get(pod, "metadata.finalizers"), 0)),
                        FINALIZER_POD);
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_JOB)), SAMPLE_JOB);
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_ITEM_UID)),
                        SAMPLE_UID);
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_OPERATION_RUN)),
                        "RECONCILE");
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_EXPORT_NAME)),
                        "team-job-export");
    assert_string_equal(json_string_value(doc_member(annotations, ANNOTATION_END)), END_ON_REQUEST);
}

static void check_container_security(const json_t *of, bool is_root_read_only)
{
    const json_t *context = doc_member(of, "securityContext");

    assert_true(json_is_false(doc_member(context, "allowPrivilegeEscalation")));
    assert_true(json_is_false(doc_member(context, "privileged")));
    assert_true(json_is_true(doc_member(context, "runAsNonRoot")));
    assert_int_equal(doc_bool_or(context, "readOnlyRootFilesystem", false), is_root_read_only);
    assert_int_equal(json_array_size(doc_get(context, "capabilities.drop")), 1);
    assert_string_equal(json_string_value(json_array_get(doc_get(context, "capabilities.drop"), 0)),
                        "ALL");
    assert_null(doc_get(context, "capabilities.add"));
    assert_null(doc_member(of, "ports"));
    assert_null(doc_member(of, "lifecycle"));
    assert_string_equal(doc_text(of, "terminationMessagePolicy"), "FallbackToLogsOnError");
}

static void the_pod_meets_the_restricted_pod_security_standard(void **state)
{
    cleanup_json json_t *pod = make_plain(DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    static const char *const absent[] = {"spec.hostNetwork", "spec.hostPID",
                                         "spec.hostIPC",     "spec.shareProcessNamespace",
                                         "spec.nodeName",    "spec.imagePullSecrets"};

    (void)state;
    assert_int_equal(doc_integer_or(pod, "spec.securityContext.runAsUser", 0), 1000);
    assert_int_equal(doc_integer_or(pod, "spec.securityContext.runAsGroup", 0), 3000);
    assert_int_equal(doc_integer_or(pod, "spec.securityContext.fsGroup", 0), 2000);
    assert_true(doc_bool_or(pod, "spec.securityContext.runAsNonRoot", false));
    assert_string_equal(doc_text(pod, "spec.securityContext.seccompProfile.type"),
                        "RuntimeDefault");
    assert_false(doc_bool_or(pod, "spec.automountServiceAccountToken", true));
    assert_false(doc_bool_or(pod, "spec.enableServiceLinks", true));
    assert_string_equal(doc_text(pod, "spec.restartPolicy"), "Never");
    assert_int_equal(doc_integer_or(pod, "spec.terminationGracePeriodSeconds", 0), 630);
    for (size_t i = 0; i < array_length(absent); i++)
        assert_null(doc_get(pod, absent[i]));
    check_container_security(container(pod, "init"), true);
    check_container_security(container(pod, "main"), false);
    check_container_security(container(pod, "wait"), true);
}

static const struct {
    const char *config, *provider;
    int main_seconds;
} graces[] = {
    {NULL, "{image: a}", 30},
    {NULL, "{image: a, terminationGracePeriodSeconds: 300}", 300},
    {NULL, "{image: a, terminationGracePeriodSeconds: 1}", 1},
    {"pod: {terminationGracePeriodSeconds: 60}", "{image: a}", 60},
    {"pod: {terminationGracePeriodSeconds: 900}", "{image: a}", 900},
    {"pod: {maxTerminationGracePeriodSeconds: 3600}",
     "{image: a, terminationGracePeriodSeconds: 3600}", 3600},
};

static void main_gets_its_grace_period_and_wait_ten_minutes_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(graces); i++) {
        cleanup_json json_t *pod =
            make_plain(DEPLOY_ITEM_TYPE_CONTAINER, graces[i].config, graces[i].provider);
        cleanup_free char *wait = env_text(container(pod, "wait"));
        int main_seconds = graces[i].main_seconds;
        cleanup_free char *expected = xasprintf(ENV_MAIN_GRACE_SECONDS "=%d ", main_seconds);

        assert_int_equal(doc_integer_or(pod, "spec.terminationGracePeriodSeconds", 0),
                         main_seconds + 600);
        assert_non_null(strstr(wait, expected));
    }
}

/* "volume:path ..." */
static char *mounts_text(const json_t *of)
{
    const json_t *mounts = doc_member(of, "volumeMounts");
    char *text = xstrdup("");

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);
        char *longer =
            xasprintf("%s%s:%s%s ", text, doc_text(mount, "name"), doc_text(mount, "mountPath"),
                      doc_bool_or(mount, "readOnly", false) ? ":ro" : "");

        free(text);
        text = longer;
    }
    return text;
}

static const struct {
    const char *type, *config, *provider;
    bool has_credentials, has_ocm;
    const char *init, *main, *wait;
} mounts[] = {
    {DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}", true, false,
     "configuration:/data/ls/internal:ro target:/data/ls/targets:ro "
     "state-source:/data/ls/state_source:ro shared-volume:/data/ls/shared ",
     "shared-volume:/data/ls/shared ",
     "serviceaccount-wait:/var/run/secrets/kubernetes.io/serviceaccount:ro "
     "shared-volume:/data/ls/shared "},
    {DEPLOY_ITEM_TYPE_CONTAINER, NULL,
     "{image: a, componentDescriptor: {ref: {componentName: c, version: v}}}", true, true,
     "configuration:/data/ls/internal:ro ocm-configuration:/data/ls/ocm:ro "
     "target:/data/ls/targets:ro registry-secrets:/data/ls/registry_secrets:ro "
     "state-source:/data/ls/state_source:ro shared-volume:/data/ls/shared ",
     "shared-volume:/data/ls/shared ",
     "serviceaccount-wait:/var/run/secrets/kubernetes.io/serviceaccount:ro "
     "shared-volume:/data/ls/shared "},
    {DEPLOY_ITEM_TYPE_SCRIPT, NULL, "{script: x}", false, false,
     "configuration:/data/ls/internal:ro target:/data/ls/targets:ro "
     "state-source:/data/ls/state_source:ro shared-volume:/data/ls/shared ",
     "script:/data/ls/script:ro shared-volume:/data/ls/shared ",
     "serviceaccount-wait:/var/run/secrets/kubernetes.io/serviceaccount:ro "
     "shared-volume:/data/ls/shared "},
    {DEPLOY_ITEM_TYPE_CONTAINER, "{initContainer: {goImage: true}, waitContainer: {goImage: true}}",
     "{image: a}", false, false,
     "configuration:/data/ls/internal:ro target:/data/ls/targets:ro "
     "serviceaccount-init:/var/run/secrets/kubernetes.io/serviceaccount:ro tmp:/tmp "
     "shared-volume:/data/ls/shared ",
     "shared-volume:/data/ls/shared ",
     "serviceaccount-wait:/var/run/secrets/kubernetes.io/serviceaccount:ro tmp:/tmp "
     "shared-volume:/data/ls/shared "},
};

/* Every mount has a volume, and every volume is mounted. */
static void check_volumes(const json_t *pod)
{
    static const char *const names[] = {"init", "main", "wait"};
    const json_t *volumes = doc_get(pod, "spec.volumes");
    size_t mounted[32] = {0};

    assert_true(json_array_size(volumes) <= array_length(mounted));
    for (size_t i = 0; i < array_length(names); i++) {
        const json_t *list = doc_member(container(pod, names[i]), "volumeMounts");

        for (size_t j = 0; j < json_array_size(list); j++) {
            const char *name = doc_text(json_array_get(list, j), "name");
            bool is_found = false;

            for (size_t k = 0; k < json_array_size(volumes); k++) {
                if (strcmp(doc_text(json_array_get(volumes, k), "name"), name) == 0) {
                    is_found = true;
                    mounted[k]++;
                }
            }
            assert_true(is_found);
        }
    }
    for (size_t k = 0; k < json_array_size(volumes); k++)
        assert_true(mounted[k] > 0);
}

static void each_container_mounts_only_its_own_volumes(void **state)
{
    cleanup_json json_t *configs = json_array();
    cleanup_json json_t *config = sample_doc("{auths: {r.io: {username: u, password: p}}}");
    cleanup_json json_t *map = sample_doc("{metadata: {name: m}, data: {.ocmconfig: x}}");

    (void)state;
    inputs_add_docker_config(configs, "x", config);
    for (size_t i = 0; i < array_length(mounts); i++) {
        cleanup_sample_run struct sample_run sample = {0};
        cleanup_json json_t *pod = NULL;
        cleanup_free char *init = NULL;
        cleanup_free char *main_mounts = NULL;
        cleanup_free char *wait = NULL;

        sample_run_init(&sample, mounts[i].type, mounts[i].config, mounts[i].provider);
        sample.request.docker_configs = mounts[i].has_credentials ? configs : NULL;
        sample.request.ocm_config_map = mounts[i].has_ocm ? map : NULL;
        pod = make(&sample.request);
        init = mounts_text(container(pod, "init"));
        main_mounts = mounts_text(container(pod, "main"));
        wait = mounts_text(container(pod, "wait"));
        assert_string_equal(init, mounts[i].init);
        assert_string_equal(main_mounts, mounts[i].main);
        assert_string_equal(wait, mounts[i].wait);
        check_volumes(pod);
    }
}

/* The controller ends it at the deadline; the kubelet later, if there is no controller. */
static void the_kubelet_ends_a_pod_ten_minutes_after_the_deadline_of_the_item(void **state)
{
    static const struct {
        int64_t now_ms, deadline_ms, seconds; /* -1: not set */
    } deadlines[] = {{0, -1, -1},
                     {0, 600000, 1200},
                     {1, 600000, 1200},
                     {1000, 600000, 1199},
                     {600000, 600000, 601},
                     {900000, 600000, 601},
                     {0, INT64_MAX - 1000, INT32_MAX}};
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    for (size_t i = 0; i < array_length(deadlines); i++) {
        cleanup_json json_t *pod = NULL;

        sample.request.now_unix_ms = deadlines[i].now_ms;
        sample.request.deadline_unix_ms = deadlines[i].deadline_ms;
        pod = make(&sample.request);
        assert_int_equal(doc_integer_or(pod, "spec.activeDeadlineSeconds", -1),
                         deadlines[i].seconds);
    }
}

static void with_little_time_left_init_fails_early_enough_to_report_the_cause(void **state)
{
    static const struct {
        int64_t now_ms, deadline_ms;
        const char *text; /* NULL: init's own default */
    } deadlines[] = {{0, -1, NULL},          {0, 600000, NULL}, {0, 240000, NULL},
                     {0, 239000, "119s"},    {0, 60000, "30s"}, {0, 1000, "1s"},
                     {900000, 600000, "1s"}, {0, 0, "1s"}};
    cleanup_sample_run struct sample_run sample = {0};

    (void)state;
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    for (size_t i = 0; i < array_length(deadlines); i++) {
        cleanup_json json_t *pod = NULL;
        const json_t *env = NULL, *entry = NULL;
        const char *found = NULL;
        size_t j = 0;

        sample.request.now_unix_ms = deadlines[i].now_ms;
        sample.request.deadline_unix_ms = deadlines[i].deadline_ms;
        pod = make(&sample.request);
        env = doc_get(json_array_get(doc_get(pod, "spec.initContainers"), 0), "env");
        json_array_foreach(env, j, entry)
        {
            if (strcmp(doc_text(entry, "name"), ENV_INIT_DEADLINE) == 0)
                found = doc_text(entry, "value");
        }
        if (deadlines[i].text)
            assert_string_equal(found, deadlines[i].text);
        else
            assert_null(found);
    }
}

static void images_and_pull_policies_come_from_item_and_operator(void **state)
{
    cleanup_json json_t *pod = make_plain(
        DEPLOY_ITEM_TYPE_CONTAINER,
        "{initContainer: {image: 'i:latest', command: [x], args: [z]}, waitContainer: {image: "
        "'w:1', "
        "imagePullPolicy: Never}}",
        "{image: 'm', command: [a, b], args: [c], imagePullPolicy: Always, resources: {limits: "
        "{memory: 1Gi}}, runtimeClassName: kata, nodeSelector: {a: b}, tolerations: [{key: k, "
        "operator: Exists}]}");

    (void)state;
    assert_string_equal(doc_text(container(pod, "init"), "imagePullPolicy"), "Always");
    assert_int_equal(json_array_size(doc_member(container(pod, "init"), "command")), 1);
    assert_string_equal(doc_text(container(pod, "wait"), "imagePullPolicy"), "Never");
    assert_null(doc_member(container(pod, "wait"), "command"));
    assert_string_equal(doc_text(container(pod, "main"), "image"), "m");
    assert_string_equal(doc_text(container(pod, "main"), "imagePullPolicy"), "Always");
    assert_int_equal(json_array_size(doc_member(container(pod, "main"), "command")), 2);
    assert_string_equal(doc_text(container(pod, "main"), "resources.limits.memory"), "1Gi");
    assert_null(doc_get(container(pod, "main"), "resources.requests"));
    assert_string_equal(doc_text(pod, "spec.runtimeClassName"), "kata");
    assert_string_equal(doc_text(pod, "spec.nodeSelector.a"), "b");
    assert_int_equal(json_array_size(doc_get(pod, "spec.tolerations")), 1);
}

static void wait_gets_the_last_generation_and_init_mounts_it(void **state)
{
    cleanup_sample_run struct sample_run sample = {0};
    cleanup_json json_t *secret = sample_doc(
        "{metadata: {name: chunk, creationTimestamp: '2026-01-07T09:00:00Z', annotations: "
        "{" ANNOTATION_STATE_UUID ": u, " ANNOTATION_STATE_NUMBER ": '0', " ANNOTATION_STATE_CHUNKS
        ": '1', " ANNOTATION_STATE_SEQUENCE ": '41', " ANNOTATION_STATE_SHA256
        ": '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}}");
    struct state_set set = {0};
    cleanup_json json_t *pod = NULL;
    cleanup_free char *wait = NULL;
    cleanup_free char *volumes = NULL;

    (void)state;
    state_set_add_secret(&set, secret);
    state_set_arrange(&set);
    sample_run_init(&sample, DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    sample.request.state = &set;
    sample.request.next_sequence = 42;
    pod = make(&sample.request);
    wait = env_text(container(pod, "wait"));
    volumes = doc_dump(doc_get(pod, "spec.volumes"));
    assert_non_null(strstr(wait, "LONGSHORE_STATE_SEQUENCE=41 LONGSHORE_STATE_SHA256=0123456789"));
    assert_non_null(strstr(wait, "LONGSHORE_STATE_NEXT_SEQUENCE=42 "));
    assert_non_null(strstr(volumes,
                           "{\"secret\":{\"name\":\"chunk\",\"items\":[{\"key\":\"config\","
                           "\"path\":\"000/config\"}],\"optional\":true}}"));
    assert_non_null(
        strstr(volumes, "\"items\":[{\"key\":\"state-000.json\",\"path\":\"000/metadata.json\"}]"));
    state_set_done(&set);
}

/* Attempts to weaken the pod; the fuzzer tries more. */
static const char *const attempts[] = {
    "{image: a, securityContext: {privileged: true}, hostNetwork: true}",
    "{image: a, serviceAccountName: admin, volumes: [{name: x, hostPath: {path: /}}]}",
    "{image: a, env: [{name: X, value: z, extra: {a: b}}]}",
    "{image: a, tolerations: [{operator: Exists, hostNetwork: true}]}",
    "{image: a, podSpecPatch: '{\"hostPID\": true}', automountServiceAccountToken: true}",
    "{image: a, resources: {limits: {cpu: 1}}, initContainers: [{name: x}], containers: []}",
    "{image: a, nodeSelector: {a: b}, nodeName: master, priorityClassName: system-node-critical}",
    "{image: a, metadata: {labels: {a: b}}, finalizers: [], gracePeriodSeconds: 0}",
    "{image: a, terminationGracePeriodSeconds: 300, activeDeadlineSeconds: 1}",
    "{image: a, command: ['$(POD_NAME)'], args: ['--privileged'], volumeMounts: [{name: target}]}",
};

static void no_provider_configuration_weakens_the_pod(void **state)
{
    cleanup_json json_t *plain = make_plain(DEPLOY_ITEM_TYPE_CONTAINER, NULL, "{image: a}");
    cleanup_json json_t *script = make_plain(DEPLOY_ITEM_TYPE_SCRIPT, NULL,
                                             "{script: x, files: {a: b}, image: c, hostIPC: true}");
    cleanup_json json_t *weakened = json_deep_copy(plain);

    (void)state;
    for (size_t i = 0; i < array_length(attempts); i++) {
        cleanup_json json_t *pod = make_plain(DEPLOY_ITEM_TYPE_CONTAINER, NULL, attempts[i]);
        const char *broken = invariants_broken(pod, plain);

        if (broken)
            fail_msg("%s: %s", attempts[i], broken);
    }
    assert_null(invariants_broken(script, plain));
    /* The check itself detects a difference. */
    doc_set_new(weakened, "spec.hostNetwork", json_true());
    assert_non_null(invariants_broken(weakened, plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_follows_the_contract_in_order),
        cmocka_unit_test(init_gets_the_variables_and_certificates_of_the_configuration),
        cmocka_unit_test(a_pod_has_the_labels_and_annotations_of_go_and_ours),
        cmocka_unit_test(the_pod_meets_the_restricted_pod_security_standard),
        cmocka_unit_test(main_gets_its_grace_period_and_wait_ten_minutes_more),
        cmocka_unit_test(each_container_mounts_only_its_own_volumes),
        cmocka_unit_test(the_kubelet_ends_a_pod_ten_minutes_after_the_deadline_of_the_item),
        cmocka_unit_test(with_little_time_left_init_fails_early_enough_to_report_the_cause),
        cmocka_unit_test(images_and_pull_policies_come_from_item_and_operator),
        cmocka_unit_test(wait_gets_the_last_generation_and_init_mounts_it),
        cmocka_unit_test(no_provider_configuration_weakens_the_pod),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
