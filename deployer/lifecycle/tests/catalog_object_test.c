/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/catalog_object.h"

static void a_cluster_sees_what_it_may_choose(void **state)
{
    cleanup_json json_t *releases = parse(
        "{'a':{'metadata':{'name':'a'},'spec':{'channels':[{'channel':'x','version':'1.0.0'},"
        "{'channel':'y','version':'2.0.0'},{'channel':'z','version':'3.0.0'}]}},"
        "'m':{'metadata':{'name':'m'},'spec':{'mandatory':{'version':'1.0.0'}}},"
        "'n':{'metadata':{'name':'n'},'spec':{'channels':[{'channel':'x','version':'9.0.0'}]}}}");
    cleanup_json json_t *templates =
        parse("{'a-1.0.0':{'metadata':{'name':'a-1.0.0'},'spec':{'v':1}},"
              "'a-2.0.0':{'metadata':{'name':'a-2.0.0','labels':{'operator.kyma-project.io/beta':"
              "'true'}},'spec':{'v':2}},'m-1.0.0':{'metadata':{'name':'m-1.0.0'},'spec':{}}}");
    cleanup_json json_t *kyma = parse("{'metadata':{}}");
    cleanup_json json_t *beta =
        parse("{'metadata':{'labels':{'operator.kyma-project.io/beta':'true'}}}");
    cleanup_json json_t *plain = catalog_objects(releases, templates, kyma);
    cleanup_json json_t *more = catalog_objects(releases, templates, beta);
    const json_t *release = doc_get(doc_member(plain, "modulereleasemetas/a"), "object");

    (void)state;
    assert_int_equal(json_object_size(plain), 2);
    assert_int_equal(json_array_size(doc_get(release, "spec.channels")), 1);
    assert_string_equal(doc_text(release, "metadata.namespace"), "kyma-system");
    assert_non_null(doc_member(plain, "moduletemplates/a-1.0.0"));
    assert_int_equal(json_object_size(more), 3);
    assert_string_not_equal(doc_text(doc_member(plain, "modulereleasemetas/a"), "hash"),
                            doc_text(doc_member(more, "modulereleasemetas/a"), "hash"));
    /* The catalog itself stays as it is. */
    assert_int_equal(json_array_size(doc_get(doc_member(releases, "a"), "spec.channels")), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cluster_sees_what_it_may_choose)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
