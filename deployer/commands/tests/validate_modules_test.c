/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/tests/validate_text.h"

#define OBJECT(kind_, name_)                                                                       \
    "apiVersion: operator.kyma-project.io/v1beta2\n"                                               \
    "kind: " kind_ "\n"                                                                            \
    "metadata: {name: " name_ ", namespace: kcp}\n"
#define KYMA(modules_)                                                                             \
    OBJECT("Kyma", "k") "spec:\n  channel: regular\n  modules:\n" modules_ "---\n"
#define RELEASE(name_, versions_)                                                                  \
    OBJECT("ModuleReleaseMeta", #name_)                                                            \
    "spec: {moduleName: " #name_ ", ocmComponentName: example.com/m/" #name_ ", " versions_ "}\n"  \
    "---\n"
#define TEMPLATE(name_, version_, more_)                                                           \
    OBJECT("ModuleTemplate", #name_ "-" version_)                                                  \
    "spec: {moduleName: " #name_ ", version: " version_ ", descriptor: {}" more_ "}\n---\n"
#define HARBOUR RELEASE(harbour, "channels: [{channel: regular, version: 1.0.0}]")
#define HARBOUR_TEMPLATE TEMPLATE(harbour, "1.0.0", "")

/* Each kind on its own. */
static const struct validate_case kinds[] = {
    {KYMA("  - {name: a, manged: true}\n"
          "  - {name: a, channel: Fast, customResourcePolicy: ignore}\n"
          "  - {channel: none, controller: x}\n"),
     2,
     "F:7:15: warning: Kyma kcp/k: spec.modules[0].manged: unknown field; did you mean "
     "\"managed\"?\n"
     "F:8:12: error: Kyma kcp/k: spec.modules[1].name: Duplicate value: \"a\"\n"
     "F:8:24: error: Kyma kcp/k: spec.modules[1].channel: Invalid value: \"Fast\": must be 3 to 32 "
     "lower-case letters\n"
     "F:8:52: error: Kyma kcp/k: spec.modules[1].customResourcePolicy: Invalid value: \"ignore\": "
     "must be CreateAndDelete or Ignore; did you mean \"Ignore\"?\n"
     "F:9:5: error: Kyma kcp/k: spec.modules[2].name: Required value: name of the module, which is "
     "the name of its ModuleReleaseMeta\n"
     "F:9:15: error: Kyma kcp/k: spec.modules[2].channel: Invalid value: \"none\": is not a "
     "channel; name one that the ModuleReleaseMeta lists\n"
     "F:9:21: warning: Kyma kcp/k: spec.modules[2].controller: has no effect: it is accepted for "
     "compatibility only\n"
     "1 Kyma: 5 errors, 2 warnings\n"},
    {"apiVersion: operator.kyma-project.io/v1beta1\nkind: Kyma\nmetadata: {name: k}\n"
     "spec: {sync: {}}\n",
     2,
     "F:1:13: error: Kyma default/k: apiVersion: Invalid value: "
     "\"operator.kyma-project.io/v1beta1\": must be operator.kyma-project.io/v1beta2\n"
     "F:4:1: error: Kyma default/k: spec.channel: Required value: release channel of all modules "
     "that do not name their own\n"
     "F:4:8: warning: Kyma default/k: spec.sync: unknown field\n"
     "1 Kyma: 2 errors, 1 warning\n"},
    {OBJECT("ModuleTemplate", "one") "spec:\n"
                                     "  moduleName: ab\n"
                                     "  version: '01.1.1'\n"
                                     "  data: {kind: K}\n"
                                     "  resources: [{name: a, link: x}, {name: a, link: 'h://x'}]\n"
                                     "  customStateCheck: [{jsonPath: a, value: '', mappedState: "
                                     "Redy}, {jsonPath: 'b[', value: c, mappedState: Ready}]\n",
     2,
     "F:3:12: warning: ModuleTemplate kcp/one: metadata.name: \"one\": a ModuleReleaseMeta finds "
     "version 01.1.1 of module ab only by the name \"ab-01.1.1\"\n"
     "F:4:1: error: ModuleTemplate kcp/one: spec.descriptor: Required value: component descriptor; "
     "{}: it is read from the registry\n"
     "F:5:15: error: ModuleTemplate kcp/one: spec.moduleName: Invalid value: \"ab\": must be words "
     "of at least 3 lower-case letters with '-' between them\n"
     "F:6:12: error: ModuleTemplate kcp/one: spec.version: Invalid value: \"01.1.1\": must be a "
     "version such as 1.2.3 or 1.2.3-rc1\n"
     "F:7:3: error: ModuleTemplate kcp/one: spec.data.apiVersion: Required value: version of the "
     "API of the resource\n"
     "F:8:31: error: ModuleTemplate kcp/one: spec.resources[0].link: Invalid value: \"x\": must be "
     "an address such as https://example.com/a\n"
     "F:8:42: error: ModuleTemplate kcp/one: spec.resources[1].name: Duplicate value: \"a\"\n"
     "F:9:60: error: ModuleTemplate kcp/one: spec.customStateCheck[0].mappedState: Invalid value: "
     "\"Redy\": must be Processing, Deleting, Ready, Error, Warning or Unmanaged; did you mean "
     "\"Ready\"?\n"
     "F:9:78: error: ModuleTemplate kcp/one: spec.customStateCheck[1].jsonPath: Invalid value: "
     "\"b[\": invalid JSONPath at offset 2: expected an index, a slice, \"*\", a name in single "
     "quotes or \"]\"\n"
     "1 ModuleTemplate: 8 errors, 1 warning\n"},
    {OBJECT("ModuleReleaseMeta", "harbor") "spec:\n"
                                           "  moduleName: harbour\n"
                                           "  channels: [{channel: a, version: '1'}]\n"
                                           "  mandatory: {version: 1.0.0-a.1+b}\n"
                                           "  beta: true\n",
     2,
     "F:3:12: warning: ModuleReleaseMeta kcp/harbor: metadata.name: \"harbor\": Kymas find the "
     "module by this name, not by spec.moduleName \"harbour\"; use the same name\n"
     "F:4:1: error: ModuleReleaseMeta kcp/harbor: spec: Required value: exactly one of channels "
     "and mandatory must be set\n"
     "F:4:1: warning: ModuleReleaseMeta kcp/harbor: spec.ocmComponentName: not set: the component "
     "cannot be found in the registry\n"
     "F:6:24: error: ModuleReleaseMeta kcp/harbor: spec.channels[0].channel: Invalid value: \"a\": "
     "must be 3 to 32 lower-case letters\n"
     "F:6:36: error: ModuleReleaseMeta kcp/harbor: spec.channels[0].version: Invalid value: \"1\": "
     "must be a version such as 1.2.3 or 1.2.3-rc1\n"
     "F:8:3: warning: ModuleReleaseMeta kcp/harbor: spec.beta: has no effect: label the "
     "ModuleTemplate instead\n"
     "1 ModuleReleaseMeta: 3 errors, 3 warnings\n"},
    {OBJECT("Manifest", "m") "spec:\n  install: {name: raw-manifest}\n  remote: 'no'\n", 2,
     "F:5:3: error: Manifest kcp/m: spec.install.source: Required value: where the objects are\n"
     "F:6:11: error: Manifest kcp/m: spec.remote: expected true or false, got a string\n"
     "1 Manifest: 2 errors, 0 warnings\n"},
    {OBJECT("Manifest", "m") "spec: {install: {name: a, source: {x: 1}}, remote: false, resource: "
                             "null}\nstatus: {state: Ready}\n",
     0, "1 Manifest, no problems found\n"},
    /* Resources of modules have other versions of the group; their kinds are not misspelled. */
    {KYMA("  - {name: a}\n") "apiVersion: operator.kyma-project.io/v1alpha1\nkind: Keda\n---\n"
                             "apiVersion: operator.kyma-project.io/v1beta2\nkind: Watcher\n",
     0, "1 Kyma, 2 other objects not checked, no problems found\n"},
    {OBJECT("ModuleTemplte", "x"), 2,
     "F:2:7: error: ModuleTemplte kcp/x: kind: Invalid value: \"ModuleTemplte\": unknown kind, "
     "expected DeployItem, Target, Context, Configuration, ProviderConfiguration, Environment, "
     "DeployerRegistration, Kyma, ModuleTemplate, ModuleReleaseMeta or Manifest; did you mean "
     "\"ModuleTemplate\"?\n"
     "1 other object not checked: 1 error, 0 warnings\n"},
};

static void every_finding_has_a_place_and_a_reason(void **state)
{
    (void)state;
    assert_cases(kinds, array_length(kinds));
}

/* Kymas with their catalog. */
static const struct validate_case catalogs[] = {
    {KYMA("  - {name: harbour}\n") HARBOUR HARBOUR_TEMPLATE, 0,
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate, no problems found\n"},
    /* Alone, a Kyma cannot be compared with anything, nor can a ModuleReleaseMeta. */
    {KYMA("  - {name: harbour}\n"), 0, "1 Kyma, no problems found\n"},
    {HARBOUR, 0, "1 ModuleReleaseMeta, no problems found\n"},
    {KYMA("  - {name: harbour, channel: regulr}\n") HARBOUR HARBOUR_TEMPLATE, 2,
     "F:7:5: error: Kyma kcp/k: spec.modules[0]: in these files, ModuleReleaseMeta kcp/harbour has "
     "no channel regulr; add it there, or choose another channel; did you mean \"regular\"?\n"
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate: 1 error, 0 warnings\n"},
    {KYMA("  - {name: harbor}\n") HARBOUR HARBOUR_TEMPLATE, 0,
     "F:7:5: warning: Kyma kcp/k: spec.modules[0]: in these files, there is no ModuleReleaseMeta "
     "kcp/harbor; create it, or remove the module from the Kyma; did you mean \"harbour\"?\n"
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate: 0 errors, 1 warning\n"},
    /* The template that is missing is reported once, where its version is. */
    {KYMA("  - {name: harbour}\n") HARBOUR TEMPLATE(harbour, "1.0.1", ""), 0,
     "F:12:109: warning: ModuleReleaseMeta kcp/harbour: spec.channels[0].version: in these files, "
     "there is no ModuleTemplate \"harbour-1.0.0\"; add it, or change the version; did you mean "
     "\"harbour-1.0.1\"?\n"
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate: 0 errors, 1 warning\n"},
    {RELEASE(crane, "mandatory: {version: 2.0.0}") KYMA("  - {name: crane}\n") HARBOUR_TEMPLATE, 2,
     "F:4:87: warning: ModuleReleaseMeta kcp/crane: spec.mandatory.version: in these files, there "
     "is no ModuleTemplate \"crane-2.0.0\"; add it, or change the version\n"
     "F:12:5: error: Kyma kcp/k: spec.modules[0]: in these files, module template not allowed: "
     "module crane is mandatory and installed in every cluster; remove it from the Kyma\n"
     "1 ModuleReleaseMeta, 1 Kyma, 1 ModuleTemplate: 1 error, 1 warning\n"},
    /* Without a label, the Kyma does not get a beta module. */
    {KYMA("  - {name: harbour}\n") HARBOUR
     "apiVersion: operator.kyma-project.io/v1beta2\nkind: ModuleTemplate\n"
     "metadata: {name: harbour-1.0.0, labels: {operator.kyma-project.io/beta: 'true'}}\n"
     "spec: {descriptor: {}}\n",
     2,
     "F:7:5: error: Kyma kcp/k: spec.modules[0]: in these files, module template not allowed: beta "
     "module; only Kymas with the label of the ModuleTemplate get it\n"
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate: 1 error, 0 warnings\n"},
    /* The lifecycle manager does not install a template that it cannot use. */
    {KYMA("  - {name: harbour}\n") HARBOUR TEMPLATE(
         harbour, "1.0.0", ", customStateCheck: [{jsonPath: a., value: b, mappedState: Ready}]"),
     2,
     "F:7:5: error: Kyma kcp/k: spec.modules[0]: in these files, ModuleTemplate kcp/harbour-1.0.0: "
     "spec.customStateCheck[0].jsonPath: invalid JSONPath at offset 2: expected a member name\n"
     "F:17:91: error: ModuleTemplate kcp/harbour-1.0.0: spec.customStateCheck[0].jsonPath: Invalid "
     "value: \"a.\": invalid JSONPath at offset 2: expected a member name\n"
     "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate: 2 errors, 0 warnings\n"},
    /* What a cluster has installed does not count, nor does the catalog of another namespace. */
    {KYMA("  - {name: harbour}\nstatus: {modules: [{name: harbour, version: 9.0.0}]}\n")
         HARBOUR HARBOUR_TEMPLATE,
     0, "1 Kyma, 1 ModuleReleaseMeta, 1 ModuleTemplate, no problems found\n"},
    {KYMA("  - {name: crane}\n") "apiVersion: operator.kyma-project.io/v1beta2\nkind: "
                                 "ModuleTemplate\n"
                                 "metadata: {name: harbour-1.0.0, namespace: other}\nspec: "
                                 "{descriptor: {}}\n",
     0, "1 Kyma, 1 ModuleTemplate, no problems found\n"},
};

static void kymas_are_compared_with_the_catalog_of_their_namespace(void **state)
{
    (void)state;
    assert_cases(catalogs, array_length(catalogs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_finding_has_a_place_and_a_reason),
        cmocka_unit_test(kymas_are_compared_with_the_catalog_of_their_namespace),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
