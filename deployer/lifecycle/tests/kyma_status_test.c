/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/kyma_status.h"

static const int64_t noon = 12L * 60 * 60 * 1000;

#define MANIFEST(state_, operation_)                                                               \
    "{'harbour':{'metadata':{'name':'m','namespace':'kcp-system'},'spec':{'version':'1.0.0','"     \
    "resource':{"                                                                                  \
    "'apiVersion':'g/v1','kind':'Harbour','metadata':{'name':'h','namespace':'kyma-system'}}},"    \
    "'status':{'state':'" state_ "','lastOperation':{'operation':'" operation_ "'}}}}"
#define TEMPLATE "{'metadata':{'name':'harbour-1.0.0','namespace':'kcp-system','generation':4}}"

static struct module_choice choice_of(enum choice_kind kind, const json_t *template,
                                      const json_t *entry)
{
    return (struct module_choice){
        .kind = kind,
        .name = "harbour",
        .channel = "regular",
        .version = "1.0.0",
        .component = "io/harbour",
        .template = template,
        .entry = entry,
    };
}

static json_t *status_of(const json_t *kyma, struct module_choice *choice, const json_t *manifests,
                         int64_t now_unix_ms)
{
    const struct choices choices = {choice, choice ? 1 : 0};

    return kyma_status(&(struct kyma_observation){
        .kyma = kyma,
        .choices = &choices,
        .manifests = manifests,
        .crds = STEP_DONE,
        .catalog = STEP_DONE,
        .now_unix_ms = now_unix_ms,
    });
}

static const char *text_of(const json_t *status, const char *path)
{
    return doc_text_or(json_array_get(doc_get(status, "modules"), 0), path, "");
}

static void an_installed_module_is_described(void **state)
{
    cleanup_json json_t *kyma = parse("{'metadata':{'generation':1},'spec':{'channel':'regular'}}");
    cleanup_json json_t *template = parse(TEMPLATE), *manifests = parse(MANIFEST("Ready", "done"));
    cleanup_json json_t *expected = parse(
        "{'modules':[{'name':'harbour','fqdn':'io/harbour','ocmComponentName':'io/harbour',"
        "'channel':'regular','version':'1.0.0','maintenance':false,'template':{'apiVersion':"
        "'operator.kyma-project.io/v1beta2','kind':'ModuleTemplate','metadata':{'name':"
        "'harbour-1.0.0','namespace':'kcp-system','generation':4}},'manifest':{'apiVersion':"
        "'operator.kyma-project.io/v1beta2','kind':'Manifest','metadata':{'name':'m','namespace':"
        "'kcp-system'}},'resource':{'apiVersion':'g/v1','kind':'Harbour','metadata':{'name':'h',"
        "'namespace':'kyma-system'}},'state':'Ready'}],'conditions':["
        "{'lastTransitionTime':'1970-01-01T12:00:00Z','message':'CRDs are synchronized to the SKR',"
        "'reason':'Ready','observedGeneration':1,'status':'True','type':'CRDsSync'},"
        "{'lastTransitionTime':'1970-01-01T12:00:00Z','message':'all modules are in ready state',"
        "'reason':'Ready','observedGeneration':1,'status':'True','type':'Modules'},"
        "{'lastTransitionTime':'1970-01-01T12:00:00Z','message':'module templates are "
        "synchronized',"
        "'reason':'Ready','observedGeneration':1,'status':'True','type':'ModuleCatalog'}],"
        "'state':'Ready','activeChannel':'regular','lastOperation':{'operation':'kyma is ready',"
        "'lastUpdateTime':'1970-01-01T12:00:00Z'}}");
    struct module_choice choice = choice_of(CHOICE_INSTALL, template, NULL);
    cleanup_json json_t *status = status_of(kyma, &choice, manifests, noon);
    cleanup_json json_t *remote = kyma_status_for_cluster(status);

    (void)state;
    assert_true(json_equal(status, expected));
    assert_string_equal(text_of(remote, "template.metadata.namespace"), "kyma-system");
    assert_string_equal(text_of(remote, "manifest.kind"), "");
}

/* Nobody writes a status that differs by its times alone. */
static void a_status_that_did_not_change_is_equal(void **state)
{
    cleanup_json json_t *kyma = parse("{'metadata':{'generation':1},'spec':{'channel':'regular'}}");
    cleanup_json json_t *template = parse(TEMPLATE), *manifests = parse(MANIFEST("Ready", "done"));
    cleanup_json json_t *worse = parse(MANIFEST("Error", "Deployment x: it broke"));
    struct module_choice choice = choice_of(CHOICE_INSTALL, template, NULL);
    cleanup_json json_t *status = status_of(kyma, &choice, manifests, noon);
    cleanup_json json_t *again = NULL, *other = NULL;

    (void)state;
    json_object_set(kyma, "status", status);
    again = status_of(kyma, &choice, manifests, 2 * noon);
    assert_true(json_equal(status, again));

    other = status_of(kyma, &choice, worse, 2 * noon);
    assert_string_equal(doc_text(other, "lastOperation.lastUpdateTime"), "1970-01-02T00:00:00Z");
    assert_string_equal(doc_text(other, "state"), "Error");
    assert_string_equal(text_of(other, "message"), "Deployment x: it broke");
    assert_string_equal(doc_text(other, "activeChannel"), "regular");
    /* Only the condition that changed has a new time. */
    assert_string_equal(
        doc_text(json_array_get(doc_get(other, "conditions"), 0), "lastTransitionTime"),
        "1970-01-01T12:00:00Z");
    assert_string_equal(
        doc_text(json_array_get(doc_get(other, "conditions"), 1), "lastTransitionTime"),
        "1970-01-02T00:00:00Z");
}

static void choices_become_entries(void **state)
{
    static const struct {
        enum choice_kind kind;
        bool has_state;
        const char *manifests;
        const char *module_state, *version, *kyma_state;
    } rows[] = {
        {CHOICE_KEEP, true, MANIFEST("Ready", ""), "Warning", "0.9.0", "Warning"},
        {CHOICE_KEEP, false, "{'harbour':{'spec':{'version':'0.9.0'},'status':{'state':'Ready'}}}",
         "Ready", "0.9.0", "Ready"},
        /* The Manifest was not written before a crash, or has been written since. */
        {CHOICE_KEEP, false, MANIFEST("Ready", ""), "Processing", "0.9.0", "Processing"},
        {CHOICE_FAIL, true, MANIFEST("Ready", ""), "Warning", "0.9.0", "Warning"},
        {CHOICE_REVOKE, true, "{}", "Warning", "", "Warning"},
        {CHOICE_RELEASE, false, "{}", "Unmanaged", "1.0.0", "Ready"},
        {CHOICE_REMOVE, false, MANIFEST("Ready", ""), "Deleting", "0.9.0", "Processing"},
        {CHOICE_REMOVE, false, MANIFEST("Warning", "waits"), "Warning", "0.9.0", "Warning"},
        {CHOICE_REMOVE, false, "{}", "", "", "Ready"},
        /* No version is installed before the Manifest is written. */
        {CHOICE_INSTALL, false, "{}", "Processing", "", "Processing"},
        {CHOICE_INSTALL, false,
         "{'harbour':{'spec':{'version':'0.9.0'},'status':{'state':'Ready'}}}", "Processing", "",
         "Processing"},
        {CHOICE_INSTALL, false, MANIFEST("Ready", ""), "Ready", "1.0.0", "Ready"},
    };
    cleanup_json json_t *kyma = parse("{'spec':{'channel':'regular'}}");
    cleanup_json json_t *template = parse(TEMPLATE);
    cleanup_json json_t *entry = parse("{'name':'harbour','version':'0.9.0','state':'Ready'}");

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *manifests = parse(rows[i].manifests), *status = NULL;
        struct module_choice choice = choice_of(rows[i].kind, template, entry);

        choice.has_state = rows[i].has_state;
        choice.state = MODULE_WARNING;
        status = status_of(kyma, &choice, manifests, noon);
        print_message("%zu\n", i);
        assert_string_equal(text_of(status, "state"), rows[i].module_state);
        assert_string_equal(text_of(status, "version"), rows[i].version);
        assert_string_equal(doc_text(status, "state"), rows[i].kyma_state);
    }
}

static void a_cluster_that_cannot_be_reached(void **state)
{
    cleanup_json json_t *kyma = parse("{'spec':{'channel':'regular'}}");
    cleanup_json json_t *template = parse(TEMPLATE), *manifests = parse(MANIFEST("Ready", ""));
    struct module_choice choice = choice_of(CHOICE_INSTALL, template, NULL);
    const struct choices choices = {&choice, 1};
    struct kyma_observation observation = {
        .kyma = kyma,
        .choices = &choices,
        .manifests = manifests,
        .crds = STEP_UNKNOWN,
        .catalog = STEP_FAILED,
        .error = "connection refused",
    };
    cleanup_json json_t *status = kyma_status(&observation), *deleting = NULL, *own = NULL;

    (void)state;
    assert_string_equal(doc_text(status, "state"), "Error");
    assert_string_equal(text_of(status, "message"), "connection refused");
    assert_string_equal(doc_text(status, "lastOperation.operation"), "connection refused");
    assert_string_equal(doc_text(json_array_get(doc_get(status, "conditions"), 0), "status"),
                        "Unknown");
    assert_string_equal(doc_text(json_array_get(doc_get(status, "conditions"), 2), "status"),
                        "False");
    assert_null(doc_get(status, "activeChannel"));

    observation.is_deleting = true;
    deleting = kyma_status(&observation);
    assert_string_equal(doc_text(deleting, "state"), "Deleting");

    observation = (struct kyma_observation){
        .kyma = kyma, .choices = &choices, .manifests = manifests, .crds = STEP_ABSENT};
    own = kyma_status(&observation);
    assert_int_equal(json_array_size(doc_get(own, "conditions")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_installed_module_is_described),
        cmocka_unit_test(a_status_that_did_not_change_is_equal),
        cmocka_unit_test(choices_become_entries),
        cmocka_unit_test(a_cluster_that_cannot_be_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
