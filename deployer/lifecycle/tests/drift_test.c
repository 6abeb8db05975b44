/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "common/base/cleanup.h"
#include "deployer/lifecycle/drift.h"

static void what_is_wanted_has_to_be_there(void **state)
{
    static const struct {
        const char *live, *wanted;
        bool is_covered;
    } rows[] = {
        {"{'a':1,'b':2}", "{'a':1}", true},
        {"{'a':2}", "{'a':1}", false},
        {"{}", "{'a':1}", false},
        {"{'a':{'b':1,'c':2}}", "{'a':{'b':1}}", true},
        {"{'a':[{'b':1,'c':2}]}", "{'a':[{'b':1}]}", true},
        {"{'a':[1,2]}", "{'a':[1]}", false},
        {"{'a':[2]}", "{'a':[1]}", false},
        /* The server drops what is empty, and lists have no kinds. */
        {"{}", "{'a':{},'b':[],'c':null,'kind':'K','apiVersion':'v1'}", true},
        {"{'kind':'L'}", "{'kind':'K'}", false},
        {"{'a':'1'}", "{'a':1}", false},
    };

    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *live = parse(rows[i].live), *wanted = parse(rows[i].wanted);

        if (drift_is_covered(live, wanted) != rows[i].is_covered)
            fail_msg("row %zu", i);
    }
}

static void the_hash_ignores_what_the_server_writes(void **state)
{
    cleanup_json json_t *one =
        parse("{'kind':'K','metadata':{'name':'n','resourceVersion':'1','uid':'u','generation':1},"
              "'status':{'a':1},'spec':{'x':1}}");
    cleanup_json json_t *same = parse(
        "{'metadata':{'name':'n','resourceVersion':'2','uid':'v','generation':2},'spec':{'x':1}}");
    cleanup_json json_t *other =
        parse("{'metadata':{'name':'n','labels':{'a':'b'}},'spec':{'x':1}}");
    const struct module_owner owner = {"kcp-system", "fleet-1-anchor"};
    cleanup_free char *hash = drift_hash(one, &owner), *hash_of_same = drift_hash(same, &owner),
                      *hash_of_other = drift_hash(other, &owner);

    (void)state;
    assert_string_equal(hash, hash_of_same);
    assert_string_not_equal(hash, hash_of_other);
}

static void the_hash_does_not_depend_on_the_cluster(void **state)
{
    static const char *const texts[] = {
        "{'metadata':{'labels':{'app.kubernetes.io/component':'fleet-1-anchor','a':'b'},"
        "'annotations':{'deprecated-operator.kyma-project.io/owned-by':'kcp-system/"
        "fleet-1-anchor'}}}",
        "{'metadata':{'labels':{'app.kubernetes.io/component':'fleet-2-anchor','a':'b'},"
        "'annotations':{'deprecated-operator.kyma-project.io/owned-by':'kcp-system/"
        "fleet-2-anchor'}}}"};
    static const struct module_owner owners[] = {{"kcp-system", "fleet-1-anchor"},
                                                 {"kcp-system", "fleet-2-anchor"}};
    cleanup_json json_t *one = parse(texts[0]), *other = parse(texts[1]);
    cleanup_free char *own = drift_hash(one, &owners[0]), *same = drift_hash(other, &owners[1]),
                      *foreign = drift_hash(other, &owners[0]),
                      *wanted = drift_wanted_hash(one, &owners[0]),
                      *wanted_same = drift_wanted_hash(other, &owners[1]);

    (void)state;
    assert_string_equal(own, same);
    assert_string_equal(wanted, wanted_same);
    assert_string_not_equal(own, foreign);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wanted_has_to_be_there),
        cmocka_unit_test(the_hash_ignores_what_the_server_writes),
        cmocka_unit_test(the_hash_does_not_depend_on_the_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
