/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/manifest_object.h"

static const char kyma_text[] =
    "{'metadata':{'name':'fleet-0001','namespace':'kcp-system','uid':'u-1'}}";
static const char template_text[] =
    "{'metadata':{'name':'harbour-1.0.0','generation':3},'spec':{'data':{'apiVersion':"
    "'operator.kyma-project.io/v1alpha1','kind':'Harbour','metadata':{'name':'harbour'},"
    "'spec':{'initKey':'initValue'}},'manager':{'group':'apps','version':'v1','kind':'Deployment',"
    "'namespace':'kyma-system','name':'harbour-controller-manager'}}}";
static char digest[] = "sha256:35b223d24ae26a27726ed7db70ad953734c7975704f95bd01d55dcc82b5a5efc";
/* As the original writes it. */
static const char manifest_text[] =
    "{'apiVersion':'operator.kyma-project.io/v1beta2','kind':'Manifest','metadata':{'annotations':{"
    "'operator.kyma-project.io/fqdn':'kyma-project.io/module/harbour',"
    "'operator.kyma-project.io/ocm-component-name':'kyma-project.io/module/harbour'},"
    "'labels':{'operator.kyma-project.io/channel':'regular',"
    "'operator.kyma-project.io/kyma-name':'fleet-0001',"
    "'operator.kyma-project.io/managed-by':'lifecycle-manager',"
    "'operator.kyma-project.io/module-name':'harbour'},'name':'fleet-0001-harbour-1079662839',"
    "'namespace':'kcp-system','ownerReferences':[{'apiVersion':'operator.kyma-project.io/v1beta2',"
    "'blockOwnerDeletion':true,'controller':true,'kind':'Kyma','name':'fleet-0001','uid':'u-1'}]},"
    "'spec':{'customResourcePolicy':'CreateAndDelete','install':{'name':'raw-manifest','source':{"
    "'name':'kyma-project.io/module/"
    "harbour','ref':'sha256:35b223d24ae26a27726ed7db70ad953734c797570"
    "4f95bd01d55dcc82b5a5efc','repo':'127.0.0.1:5000','type':'oci-ref'}},'manager':{'group':'apps',"
    "'kind':'Deployment','name':'harbour-controller-manager','namespace':'kyma-system',"
    "'version':'v1'},'remote':false,'resource':{'apiVersion':'operator.kyma-project.io/v1alpha1',"
    "'kind':'Harbour','metadata':{'name':'harbour','namespace':'kyma-system'},"
    "'spec':{'initKey':'initValue'}},'version':'1.0.0'}}";

static struct module_choice choice_of(const json_t *template, const json_t *entry)
{
    return (struct module_choice){
        .kind = CHOICE_INSTALL,
        .name = "harbour",
        .channel = "regular",
        .version = "1.0.0",
        .component = "kyma-project.io/module/harbour",
        .template = template,
        .entry = entry,
    };
}

static const char repository[] = "127.0.0.1:5000";

static void a_manifest_is_that_of_the_original(void **state)
{
    cleanup_json json_t *kyma = parse(kyma_text), *template = parse(template_text);
    cleanup_json json_t *expected = parse(manifest_text);
    struct module_choice choice = choice_of(template, NULL);
    cleanup_json json_t *manifest = manifest_object(kyma, &choice, false, repository,
                                                    &(struct module_source){.digest = digest});

    (void)state;
    assert_true(json_equal(manifest, expected));
}

static void variants(void **state)
{
    cleanup_json json_t *kyma = parse(kyma_text);
    cleanup_json json_t *template = parse(
        "{'metadata':{'labels':{'operator.kyma-project.io/controller-name':'c'},'annotations':{"
        "'operator.kyma-project.io/is-cluster-scoped':'true'}},'spec':{'data':{'kind':'X',"
        "'metadata':{'namespace':'n'}}}}");
    cleanup_json json_t *images = parse("['a/b:1']");
    struct module_choice choice = choice_of(template, NULL);
    struct module_source archive = {digest, true, images};
    cleanup_json json_t *manifest = NULL;
    const json_t *labels;

    (void)state;
    choice.is_resource_ignored = true;
    manifest = manifest_object(kyma, &choice, true, repository, &archive);
    labels = doc_get(manifest, "metadata.labels");
    assert_null(doc_member(labels, "operator.kyma-project.io/channel"));
    assert_string_equal(
        json_string_value(doc_member(labels, "operator.kyma-project.io/mandatory-module")), "true");
    assert_string_equal(
        json_string_value(doc_member(labels, "operator.kyma-project.io/controller-name")), "c");
    assert_string_equal(doc_text(manifest, "spec.install.source.type"), "oci-dir");
    assert_string_equal(doc_text(manifest, "spec.customResourcePolicy"), "Ignore");
    assert_string_equal(doc_text(manifest, "spec.resource.metadata.name"),
                        "fleet-0001-harbour-1079662839");
    assert_null(doc_get(manifest, "spec.resource.metadata.namespace"));
    assert_int_equal(json_array_size(doc_get(manifest, "spec.localizedImages")), 1);
}

static void only_what_matters_is_a_difference(void **state)
{
    static const struct {
        const char *path, *value, *expected; /* of the existing Manifest */
    } rows[] = {
        {"spec.version", "0.9.0", "its version differs"},
        {"spec.install.source.ref", "sha256:0", "its content differs"},
        {"spec.customResourcePolicy", "Ignore", "its customResourcePolicy differs"},
        {"metadata.resourceVersion", "5", NULL},
        {"spec.install.source.repo", "elsewhere", NULL},
    };
    cleanup_json json_t *template = parse(template_text);
    cleanup_json json_t *entry = parse("{'template':{'metadata':{'generation':3}}}");
    cleanup_json json_t *old_entry = parse("{'template':{'metadata':{'generation':2}}}");
    cleanup_json json_t *wanted = parse(manifest_text), *existing = parse(manifest_text);
    struct module_choice choice = choice_of(template, entry);

    (void)state;
    assert_string_equal(manifest_difference(NULL, wanted, &choice, 0), "it does not exist");
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *changed = json_deep_copy(existing);
        const char *difference;

        doc_set_text(changed, rows[i].path, rows[i].value);
        difference = manifest_difference(changed, wanted, &choice, 0);
        if (rows[i].expected)
            assert_string_equal(difference, rows[i].expected);
        else
            assert_null(difference);
    }
    json_object_set_new(doc_writable(doc_get(existing, "metadata.labels")),
                        "operator.kyma-project.io/channel", json_string("fast"));
    assert_string_equal(manifest_difference(existing, wanted, &choice, 0), "its channel differs");
    json_object_set_new(doc_writable(doc_get(existing, "metadata.annotations")),
                        "operator.kyma-project.io/is-unmanaged", json_string("true"));
    assert_null(manifest_difference(existing, wanted, &choice, 0));

    choice.entry = old_entry;
    assert_string_equal(manifest_difference(wanted, wanted, &choice, 0),
                        "its template has changed");
    assert_null(manifest_difference(wanted, wanted, &choice, 3)); /* it was written since */
    choice.entry = NULL;
    assert_null(manifest_difference(wanted, wanted, &choice, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_that_of_the_original),
        cmocka_unit_test(variants),
        cmocka_unit_test(only_what_matters_is_a_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
