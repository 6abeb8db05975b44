/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/tests/validate_text.h"

#define ITEM                                                                                       \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: DeployItem\n"                                                                           \
    "metadata: {name: job, namespace: team}\n"                                                     \
    "spec:\n"
#define CONTAINER                                                                                  \
    ITEM "  type: landscaper.gardener.cloud/container\n"                                           \
         "  config:\n"                                                                             \
         "    apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\n"                 \
         "    kind: ProviderConfiguration\n"
#define SCRIPT                                                                                     \
    ITEM "  type: landscaper.gardener.cloud/script\n"                                              \
         "  config:\n"                                                                             \
         "    apiVersion: script.deployer.landscaper.gardener.cloud/v1alpha1\n"                    \
         "    kind: ProviderConfiguration\n"
#define TARGET                                                                                     \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: Target\n"                                                                               \
    "metadata: {name: t, namespace: team}\n"
#define CONTEXT                                                                                    \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: Context\n"                                                                              \
    "metadata: {name: default, namespace: team}\n"

#define ENVIRONMENT                                                                                \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: Environment\n"                                                                          \
    "metadata: {name: e}\n"                                                                        \
    "spec:\n"                                                                                      \
    "  namespace: ls-system\n"                                                                     \
    "  hostTarget: {type: t, secretRef: {name: s, key: k}}\n"                                      \
    "  landscaperClusterConfig: {host: 'https://ls.example:6443', apiPath: ''}\n"                  \
    "  targetSelectors: []\n"
#define REGISTRATION(name_, types_, more_)                                                         \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: DeployerRegistration\n"                                                                 \
    "metadata: {name: " name_ "}\n"                                                                \
    "spec:\n"                                                                                      \
    "  types: " types_ "\n"                                                                        \
    "  installationTemplate:\n"                                                                    \
    "    blueprint: {inline: {filesystem: {}}}\n" more_

static const struct validate_case cases[] = {
    {CONTAINER "    image: alpine:3\n", 0, "1 DeployItem, no problems found\n"},
    {SCRIPT "    script: echo\n---\n" TARGET "spec: {type: x}\n---\n" CONTEXT
            "---\nkind: Secret\nmetadata: {name: s}\n",
     0, "1 DeployItem, 1 Target, 1 Context, 1 other object not checked, no problems found\n"},
    /* Components. */
    {CONTAINER "    image: a\n"
               "    componentDescriptor:\n"
               "      ref:\n"
               "        repositoryContext: {type: ociRegistry, baseUrl: r.example}\n"
               "        componentName: x.y/z\n"
               "        version: one\n",
     2,
     "F:13:24: error: DeployItem team/job: spec.config.componentDescriptor.ref.componentName: "
     "Invalid value: \"x.y/z\": must be a lower-case domain and a path, such as "
     "example.com/acme/app\n"
     "F:14:18: error: DeployItem team/job: spec.config.componentDescriptor.ref.version: Invalid "
     "value: \"one\": must be a version such as 1.2.3 or v1.2.3-rc.1\n"
     "1 DeployItem: 2 errors, 0 warnings\n"},
    {CONTAINER "    image: a\n"
               "    componentDescriptor:\n"
               "      ref:\n"
               "        repositoryContext: {type: ociRegistri, baseUrl: r.example}\n"
               "        componentName: example.com/z\n"
               "        version: v1\n",
     2,
     "F:12:35: error: DeployItem team/job: "
     "spec.config.componentDescriptor.ref.repositoryContext.type: Invalid value: \"ociRegistri\": "
     "must be ociRegistry, CommonTransportFormat, ComponentArchive, local or inline\n"
     "1 DeployItem: 1 error, 0 warnings\n"},
    {CONTAINER "    image: a\n"
               "    componentDescriptor: {ref: {repositoryContext: {type: oci}, componentName: "
               "a.example/b, version: '1'}}\n",
     2,
     "F:10:33: error: DeployItem team/job: spec.config.componentDescriptor.ref.repositoryContext: "
     "Invalid value: repository context: baseUrl: missing\n"
     "1 DeployItem: 1 error, 0 warnings\n"},
    /* Targets. */
    {TARGET "spec: {typ: x, secretRef: kc}\n", 2,
     "F:4:1: error: Target team/t: spec.type: Required value: type of the target\n"
     "F:4:8: warning: Target team/t: spec.typ: unknown field; did you mean \"type\"?\n"
     "F:4:27: error: Target team/t: spec.secretRef: expected an object, got a string\n"
     "1 Target: 2 errors, 1 warning\n"},
    {TARGET "spec: 5\n", 2,
     "F:4:7: error: Target team/t: spec: expected an object, got a number\n"
     "1 Target: 1 error, 0 warnings\n"},
    {TARGET "spek: {type: x}\n", 2,
     "F:1:1: error: Target team/t: spec: Required value: specification of the target\n"
     "F:4:1: warning: Target team/t: spek: unknown field; did you mean \"spec\"?\n"
     "1 Target: 1 error, 1 warning\n"},
    {TARGET "spec: {type: x, secretRef: {name: a, keys: b}, config: {}}\n", 0,
     "F:4:38: warning: Target team/t: spec.secretRef.keys: unknown field; did you mean \"key\"?\n"
     "F:4:48: warning: Target team/t: spec.config: has no effect: secretRef takes precedence\n"
     "1 Target: 0 errors, 2 warnings\n"},
    {TARGET "spec: {type: example.com/token, config: abc}\n", 2,
     "F:4:41: error: Target team/t: spec.config: the target's content is not a kubeconfig; "
     "deployers accept only content that is an object, such as {\"token\": \"...\"}\n"
     "1 Target: 1 error, 0 warnings\n"},
    /* Contexts. */
    {CONTEXT "ocmConfig: name\nregistryPullSecrets: [{nam: x}, regcred]\n"
             "repositoryContext: {type: ociRegistri}\nuseOCM: true\n",
     2,
     "F:4:12: error: Context team/default: ocmConfig: expected an object, got a string\n"
     "F:5:23: error: Context team/default: registryPullSecrets[0].name: Required value: name of "
     "the object\n"
     "F:5:24: warning: Context team/default: registryPullSecrets[0].nam: unknown field; did you "
     "mean \"name\"?\n"
     "F:5:33: error: Context team/default: registryPullSecrets[1]: expected an object, got a "
     "string\n"
     "F:6:21: warning: Context team/default: repositoryContext.type: \"ociRegistri\": must be "
     "ociRegistry, CommonTransportFormat, ComponentArchive, local or inline\n"
     "F:7:1: warning: Context team/default: useOCM: unknown field\n"
     "1 Context: 3 errors, 3 warnings\n"},
    /* Environments and registrations. */
    {ENVIRONMENT "---\n" REGISTRATION("mock", "[x.example/mock]", ""), 0,
     "1 Environment, 1 DeployerRegistration, no problems found\n"},
    {"apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Environment\nmetadata: {name: e}\n"
     "spec:\n"
     "  namespace: ((a))\n"
     "  hostTarget: {type: t}\n"
     "  landscaperClusterConfig: {host: a b, insecure: true, caData: YQ==}\n"
     "  targetSelectors: [{annotations: [{key: a, operation: '=', values: ['(( x ))']}]}]\n",
     2,
     "F:5:14: error: Environment e: spec.namespace: Invalid value: \"((a))\": must be the name of "
     "a namespace\n"
     "F:6:3: error: Environment e: spec.hostTarget: Required value: exactly one of config and "
     "secretRef must be set\n"
     "F:7:3: error: Environment e: spec.landscaperClusterConfig.apiPath: Required value: path that "
     "is appended to the host; may be empty\n"
     "F:7:35: error: Environment e: spec.landscaperClusterConfig.host: Invalid value: must not "
     "contain blanks or control characters\n"
     "F:7:64: error: Environment e: spec.landscaperClusterConfig.caData: Forbidden: clients reject "
     "an authority together with insecure; remove one of them\n"
     "F:8:3: error: Environment e: spec.targetSelectors: Invalid value: contains \"((\", which "
     "starts a template expression\n"
     "F:8:36: error: Environment e: spec.targetSelectors[0].annotations[0].operator: Required "
     "value: one of =, ==, !=, in, notin, exists, !, gt, lt\n"
     "F:8:45: warning: Environment e: spec.targetSelectors[0].annotations[0].operation: unknown "
     "field; did you mean \"operator\"?\n"
     "F:8:70: error: Environment e: spec.targetSelectors[0].annotations[0].values[0]: Invalid "
     "value: \"(( x ))\": must be a valid label value\n"
     "1 Environment: 8 errors, 1 warning\n"},
    {REGISTRATION("r", "[]",
                  "    imports:\n"
                  "      data: [{name: cluster, dataRef: a}, {name: b}]\n"
                  "      targets: [{name: b, target: c}]\n"),
     2,
     "F:5:3: error: DeployerRegistration r: spec.types: Required value: at least one type\n"
     "F:9:21: error: DeployerRegistration r: spec.installationTemplate.imports.data[0].name: "
     "Forbidden: the import \"cluster\" is added to every deployer; use another name\n"
     "F:9:43: error: DeployerRegistration r: spec.installationTemplate.imports.data[1]: Required "
     "value: exactly one source, found 0\n"
     "F:10:24: error: DeployerRegistration r: spec.installationTemplate.imports.targets[0].name: "
     "Duplicate value: \"b\"\n"
     "1 DeployerRegistration: 4 errors, 0 warnings\n"},
    /* A declared cycle is an error, types in the text of a blueprint give warnings. */
    {ENVIRONMENT "---\n" REGISTRATION("a", "[x.example/a]\n  requiredTypes: [x.example/b]",
                                      "") "---\n" REGISTRATION("b",
                                                               "[x.example/b]\n  requiredTypes: "
                                                               "[x.example/a]",
                                                               ""),
     2,
     "F:13:1: error: DeployerRegistration a: spec: in environment e: DependencyCycle: a → "
     "x.example/b (b) → x.example/a (a): none of them can be installed first; remove one of these "
     "dependencies, or register another deployer for one of the types\n"
     "F:22:1: error: DeployerRegistration b: spec: in environment e: DependencyCycle: b → "
     "x.example/a (a) → x.example/b (b): none of them can be installed first; remove one of these "
     "dependencies, or register another deployer for one of the types\n"
     "1 Environment, 2 DeployerRegistrations: 2 errors, 0 warnings\n"},
    {ENVIRONMENT
     "---\n"
     "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: DeployerRegistration\n"
     "metadata: {name: a}\nspec:\n  types: [x.example/a]\n  installationTemplate:\n"
     "    blueprint: {inline: {filesystem: {blueprint.yaml: '- {type: x.example/c}'}}}\n",
     0,
     "F:13:1: warning: DeployerRegistration a: spec: in environment e: DeployerMissing: a → "
     "x.example/c: no deployer of this environment serves items of type x.example/c; register one, "
     "or correct the type\n"
     "1 Environment, 1 DeployerRegistration: 0 errors, 1 warning\n"},
    /* Kinds. */
    {CONTAINER "    image: a\n---\napiVersion: landscaper.gardener.cloud/v1alpha1\n"
               "kind: DeployItm\n",
     2,
     "F:12:7: error: DeployItm: kind: Invalid value: \"DeployItm\": unknown kind, expected "
     "DeployItem, Target, Context, Configuration, ProviderConfiguration, Environment, "
     "DeployerRegistration, Kyma, ModuleTemplate, ModuleReleaseMeta or Manifest; did you mean "
     "\"DeployItem\"?\n"
     "1 DeployItem, 1 other object not checked: 1 error, 0 warnings\n"},
    {"apiVersion: v1\nkind: Pod\n", 2,
     "F:1:1: error: no DeployItem, Target, Context, Configuration, ProviderConfiguration, "
     "Environment, DeployerRegistration, Kyma, ModuleTemplate, ModuleReleaseMeta or Manifest in "
     "the "
     "files; found kind \"Pod\"\n"
     "1 other object not checked: 1 error, 0 warnings\n"},
    {"apiVersion: v1\n", 2, "F:1:1: error: kind is missing\n1 error, 0 warnings\n"},
    {CONTAINER "    image: a\n---\n- 1\n", 2,
     "F:11:1: error: expected an object\n1 DeployItem: 1 error, 0 warnings\n"},
    {"a: b: c\n", 2,
     "F:1:5: error: mapping values are not allowed in this context\n1 error, 0 warnings\n"},
    /* Fields of other types, images, words. */
    {CONTAINER "    image: a\n    script: echo\n", 0,
     "F:10:5: warning: DeployItem team/job: spec.config.script: unknown field; only items of type "
     "landscaper.gardener.cloud/script have it\n"
     "1 DeployItem: 0 errors, 1 warning\n"},
    {CONTAINER "    imgae: a\n", 0,
     "F:6:3: warning: DeployItem team/job: spec.config.image: not set: main runs in the "
     "deployer's defaultImage, which is ubuntu:18.04 unless the operator changed it; check with "
     "--config\n"
     "F:9:5: warning: DeployItem team/job: spec.config.imgae: unknown field; did you mean "
     "\"image\"?\n"
     "1 DeployItem: 0 errors, 2 warnings\n"},
    {SCRIPT "    script: x\n    interpreter: python3 -u\n", 2,
     "F:10:18: error: DeployItem team/job: spec.config.interpreter: Invalid value: \"python3 "
     "-u\": a string names one program; to pass arguments, use a list such as "
     "[\"/usr/bin/python3\", \"-u\"]\n"
     "1 DeployItem: 1 error, 0 warnings\n"},
    {CONTAINER "    image: a\n    tolerations: [{key: a, operator: Exist}]\n", 2,
     "F:10:38: error: DeployItem team/job: spec.config.tolerations[0].operator: Invalid value: "
     "\"Exist\": must be Equal or Exists; did you mean \"Exists\"?\n"
     "1 DeployItem: 1 error, 0 warnings\n"},
    {ITEM "  type: landscaper.gardener.cloud/contaner\n  config: {apiVersion: a/v1, kind: b}\n", 2,
     "F:5:9: error: DeployItem team/job: spec.type: Invalid value: "
     "\"landscaper.gardener.cloud/contaner\": unsupported type, must be "
     "landscaper.gardener.cloud/container, landscaper.gardener.cloud/script, "
     "landscaper.gardener.cloud/helm or "
     "landscaper.gardener.cloud/kubernetes-manifest; did you mean "
     "\"landscaper.gardener.cloud/container\"?\n"
     "1 DeployItem: 1 error, 0 warnings\n"},
    /* Metadata. */
    {"apiVersion: landscaper.gardener.cloud/v1alpha1\n"
     "kind: DeployItem\n"
     "metadata: {namespace: example, annotations: {a: true}}\n"
     "spec: {type: landscaper.gardener.cloud/script, config: {script: x}}\n",
     2,
     "F:3:1: error: DeployItem: metadata.name: Required value: name of the object\n"
     "F:3:49: error: DeployItem: metadata.annotations.a: expected a string, got a boolean\n"
     "F:4:48: error: DeployItem: spec.config.apiVersion: Required value: the API server rejects "
     "items without it\n"
     "F:4:48: error: DeployItem: spec.config.kind: Required value: the API server rejects items "
     "without it\n"
     "1 DeployItem: 4 errors, 0 warnings\n"},
    /* A Target in another namespace. */
    {ITEM "  type: landscaper.gardener.cloud/script\n"
          "  target: {name: t}\n"
          "  config: {apiVersion: script.deployer.landscaper.gardener.cloud/v1alpha1, kind: "
          "ProviderConfiguration, script: x}\n"
          "---\n"
          "apiVersion: landscaper.gardener.cloud/v1alpha1\n"
          "kind: Target\n"
          "metadata: {name: t, namespace: other}\n"
          "spec: {type: x}\n",
     0,
     "F:6:18: warning: DeployItem team/job: spec.target.name: target \"team/t\" not found in the "
     "files; \"other/t\" is in another namespace\n"
     "1 DeployItem, 1 Target: 0 errors, 1 warning\n"},
    /* Lists. */
    {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: landscaper.gardener.cloud/v1alpha1\n"
     "  kind: Target\n  metadata: {name: a}\n  spec: {type: x}\n"
     "- apiVersion: landscaper.gardener.cloud/v1alpha1\n"
     "  kind: Target\n  metadata: {name: b}\n  spec: {type: 5}\n",
     2,
     "F:11:16: error: Target default/b: spec.type: expected a string, got a number\n"
     "2 Targets: 1 error, 0 warnings\n"},
    /* A provider configuration on its own. */
    {"apiVersion: script.deployer.landscaper.gardener.cloud/v1alpha1\n"
     "kind: ProviderConfiguration\n"
     "scirpt: x\n",
     2,
     "F:1:1: error: ProviderConfiguration: script: Required value: text of the program\n"
     "F:3:1: warning: ProviderConfiguration: scirpt: unknown field; did you mean \"script\"?\n"
     "1 ProviderConfiguration: 1 error, 1 warning\n"},
};

static void every_finding_has_a_place_and_a_reason(void **state)
{
    (void)state;
    assert_cases(cases, array_length(cases));
}

static void strict_turns_warnings_into_errors(void **state)
{
    static const char text[] = CONTAINER "    image: a\n    colour: blue\n";
    static const char warning[] =
        "F:10:5: warning: DeployItem team/job: spec.config.colour: unknown field\n"
        "1 DeployItem: 0 errors, 1 warning\n";
    static const char error[] =
        "F:10:5: error: DeployItem team/job: spec.config.colour: unknown field\n"
        "1 DeployItem: 1 error, 0 warnings\n";
    int code = 0;
    cleanup_free char *plain = validate_text(text, NULL, &code);
    cleanup_free char *strict = NULL;

    (void)state;
    assert_int_equal(code, 0);
    assert_string_equal(plain, warning);
    strict = validate_text(text, "--strict", &code);
    assert_int_equal(code, 2);
    assert_string_equal(strict, error);
}

static void json_has_the_same_findings(void **state)
{
    static const char *const arguments[] = {
        "validate", "--strict", "-o", "json", "testdata/unknown.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_string_equal(
        text, "{\"findings\":[{\"file\":\"testdata/unknown.yaml\",\"line\":10,\"column\":5,"
              "\"object\":\"DeployItem team/job\",\"path\":\"spec.config.colour\",\"message\":"
              "\"unknown field\",\"severity\":\"error\"}],\"objects\":1,\"others\":0,\"errors\":1,"
              "\"warnings\":0}\n");
}

static void a_file_that_cannot_be_read_is_a_finding_and_the_others_are_checked(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/absent.yaml",
                                            "testdata/script.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_non_null(strstr(text, "testdata/absent.yaml: error: "));
    assert_non_null(strstr(text, "\n1 DeployItem: 1 error, 0 warnings\n"));
}

static void files_are_checked_together(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/container.yaml",
                                            "testdata/inputs.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    if (code != 0)
        fail_msg("%s", text);
    assert_non_null(strstr(text, "1 DeployItem, "));
}

static size_t count(const char *text, const char *piece)
{
    size_t found = 0;

    for (; (text = strstr(text, piece)); text++)
        found++;
    return found;
}

static void validate_lists_any_number_of_mistakes(void **state)
{
    static const char *const arguments[] = {"validate", "testdata/many.yaml", NULL};
    int code = 0;
    cleanup_free char *text = output_of(validate_main, arguments, &code);

    (void)state;
    assert_int_equal(code, 2);
    assert_int_equal(count(text, "DeployItem team/errors: spec.config"), 100);
    assert_non_null(strstr(text, "team/errors: spec.config.env[98].name: Invalid value: \"1A\""));
    assert_int_equal(count(text, "warning: DeployItem team/warnings: spec.config.x"), 70);
    assert_int_equal(count(text, "error: DeployItem team/warnings"), 0);
}

static void validate_reports_inputs_that_exceed_the_limits_of_a_run(void **state)
{
    cleanup_free char *values = xmalloc(SECRET_MAX_BYTES + 1);
    cleanup_json json_t *item = NULL;
    cleanup_free char *text = NULL;
    cleanup_free char *output = NULL;
    char path[] = "/tmp/longshore-large.XXXXXX";
    const char *const arguments[] = {"validate", path, NULL};
    int fd = mkstemp(path);
    int code = 0;

    (void)state;
    assert_true(fd >= 0);
    memset(values, 'x', SECRET_MAX_BYTES);
    values[SECRET_MAX_BYTES] = '\0';
    item =
        sample_doc("{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: DeployItem, "
                   "metadata: {name: large}, spec: {type: landscaper.gardener.cloud/container}}");
    (void)json_object_set_new(json_object_get(item, "spec"), "config",
                              json_pack("{s:s,s:s,s:s,s:{s:s}}", "apiVersion",
                                        "container.deployer.landscaper.gardener.cloud/v1alpha1",
                                        "kind", "ProviderConfiguration", "image", "alpine",
                                        "importValues", "a", values));
    text = doc_dump(item);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    output = output_of(validate_main, arguments, &code);
    (void)unlink(path);
    assert_int_equal(code, 2);
    assert_non_null(
        strstr(output, "DeployItem default/large: spec.config: the inputs of the run "
                       "(configuration, target, registry credentials, files) exceed 1048576 bytes"
                       " in total"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finding_has_a_place_and_a_reason),
        cmocka_unit_test(strict_turns_warnings_into_errors),
        cmocka_unit_test(json_has_the_same_findings),
        cmocka_unit_test(a_file_that_cannot_be_read_is_a_finding_and_the_others_are_checked),
        cmocka_unit_test(files_are_checked_together),
        cmocka_unit_test(validate_lists_any_number_of_mistakes),
        cmocka_unit_test(validate_reports_inputs_that_exceed_the_limits_of_a_run),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
