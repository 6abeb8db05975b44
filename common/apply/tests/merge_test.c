/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of each update strategy. */
#include "common/apply/tests/merge_checks.h"
#include "common/base/memory.h"

static const struct apply_owner full_owner = {"item", "ours", "owner", "ns/ours"};

static void strategies_have_names(void **state)
{
    static const struct {
        const char *text;
        enum update_strategy strategy;
    } strategies[] = {
        {"update", STRATEGY_UPDATE}, {"patch", STRATEGY_PATCH},
        {"merge", STRATEGY_MERGE},   {"mergeOverwrite", STRATEGY_MERGE_OVERWRITE},
        {"apply", STRATEGY_APPLY},
    };
    static const char *const unknown[] = {"Update", "mergeoverwrite", "replace", " "};
    enum update_strategy strategy = STRATEGY_APPLY;
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < array_length(strategies); i++) {
        assert_int_equal(strategy_parse(strategies[i].text, &strategy, &err), 0);
        assert_int_equal(strategy, strategies[i].strategy);
        assert_string_equal(strategy_name(strategy), strategies[i].text);
    }
    assert_int_equal(strategy_parse("", &strategy, &err), 0);
    assert_int_equal(strategy, STRATEGY_UPDATE);
    for (size_t i = 0; i < array_length(unknown); i++) {
        assert_int_equal(strategy_parse(unknown[i], &strategy, &err), -1);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_non_null(strstr(err.text, unknown[i]));
    }
}

static const struct {
    const char *manifest, *annotations;
    const char *with_owner, *created;
} created[] = {
    {"{'kind':'X','metadata':{'name':'a'}}", NULL,
     "{'kind':'X','metadata':{'name':'a','labels':{'item':'ours'},"
     "'annotations':{'owner':'ns/ours'}}}",
     "{'kind':'X','metadata':{'name':'a','labels':{'item':'ours'},"
     "'annotations':{'owner':'ns/ours'}}}"},
    /* The annotations before creation win over those of the manifest, the owner over all. */
    {"{'metadata':{'labels':{'item':'other','l':'1'},'annotations':{'a':'1','b':'2'}}}",
     "{'b':'3','c':'4','owner':'x'}",
     "{'metadata':{'labels':{'item':'ours','l':'1'},"
     "'annotations':{'a':'1','b':'2','owner':'ns/ours'}}}",
     "{'metadata':{'labels':{'item':'ours','l':'1'},"
     "'annotations':{'a':'1','b':'3','c':'4','owner':'ns/ours'}}}"},
    {"{'metadata':{'labels':null,'annotations':null}}", "{}",
     "{'metadata':{'labels':{'item':'ours'},'annotations':{'owner':'ns/ours'}}}",
     "{'metadata':{'labels':{'item':'ours'},'annotations':{'owner':'ns/ours'}}}"},
    {"{}", "{'a':'b'}", "{'metadata':{'labels':{'item':'ours'},'annotations':{'owner':'ns/ours'}}}",
     "{'metadata':{'labels':{'item':'ours'},'annotations':{'a':'b','owner':'ns/ours'}}}"},
    /* An object that was exported from a cluster: only the server can set these. */
    {"{'metadata':{'name':'a','uid':'u','resourceVersion':'7','generation':3,'managedFields':[{}],"
     "'creationTimestamp':null,'selfLink':'/x','deletionTimestamp':'t',"
     "'deletionGracePeriodSeconds':0,'finalizers':['f']}}",
     NULL,
     "{'metadata':{'name':'a','uid':'u','resourceVersion':'7','generation':3,'managedFields':[{}],"
     "'creationTimestamp':null,'selfLink':'/x','deletionTimestamp':'t',"
     "'deletionGracePeriodSeconds':0,'finalizers':['f'],'labels':{'item':'ours'},"
     "'annotations':{'owner':'ns/ours'}}}",
     "{'metadata':{'name':'a','finalizers':['f'],'labels':{'item':'ours'},"
     "'annotations':{'owner':'ns/ours'}}}"},
    /* The server rejects these with a message that names the field. */
    {"{'metadata':{'labels':'x','annotations':[]}}", "{'a':'b'}",
     "{'metadata':{'labels':'x','annotations':[]}}",
     "{'metadata':{'labels':'x','annotations':[]}}"},
    {"{'metadata':'x'}", "{'a':'b'}", "{'metadata':'x'}", "{'metadata':'x'}"},
};

static void an_object_is_created_with_its_owner(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(created); i++) {
        cleanup_json json_t *manifest = parse(created[i].manifest);
        cleanup_json json_t *copy = json_deep_copy(manifest);
        cleanup_json json_t *annotations =
            created[i].annotations ? parse(created[i].annotations) : NULL;
        cleanup_json json_t *with_owner = merge_with_owner(manifest, &full_owner);
        cleanup_json json_t *object = merge_for_create(manifest, annotations, &full_owner);

        print_message("%s\n", created[i].manifest);
        assert_json(with_owner, created[i].with_owner);
        assert_json(object, created[i].created);
        assert_true(json_equal(manifest, copy));
    }
}

static void an_owner_may_have_no_annotation(void **state)
{
    cleanup_json json_t *manifest = parse("{'metadata':{'name':'a'}}");
    cleanup_json json_t *object = merge_with_owner(manifest, &owner);

    (void)state;
    assert_json(object, "{'metadata':{'name':'a','labels':{'item':'ours'}}}");
}

/* The metadata of a live object. */
#define SERVER "'uid':'u','resourceVersion':'7','generation':2,'creationTimestamp':'t'"
#define MANAGED "'managedFields':[{'manager':'m','operation':'Update','fieldsV1':{}}]"

static const struct {
    const char *name, *live, *manifest;
    const char *update; /* body of the PUT; NULL: nothing to do */
    const char *patch;
    const char *merge, *overwrite;
} changes[] = {
    {"a ConfigMap that is as wanted",
     "{'kind':'ConfigMap','metadata':{'name':'a'," SERVER "," MANAGED "," OURS
     "},'data':{'k':'1'}}",
     "{'kind':'ConfigMap','metadata':{'name':'a','creationTimestamp':null},'data':{'k':'1'}}", NULL,
     NULL, NULL, NULL},
    {"a changed value",
     "{'metadata':{'name':'a'," SERVER "," MANAGED "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'},'data':{'k':'2'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'2'}}", "{'data':{'k':'2'}}", NULL,
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'2'}}"},
    {"an added value", "{'metadata':{'name':'a'," SERVER "," MANAGED "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'},'data':{'k':'1','l':'2'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1','l':'2'}}", "{'data':{'l':'2'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1','l':'2'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1','l':'2'}}"},
    {"labels, annotations and keys of others",
     "{'metadata':{'name':'a'," SERVER ",'labels':{'item':'ours','l':'1'},'annotations':{'b':'1'}},"
     "'data':{'k':'1','x':'1'}}",
     "{'metadata':{'name':'a'},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'labels':{'l':null},'annotations':null},'data':{'x':null}}", NULL, NULL},
    {"an object without owner", "{'metadata':{'name':'a'," SERVER "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}", "{'metadata':{" OURS "}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}"},
    {"an object of another owner",
     "{'metadata':{'name':'a'," SERVER ",'labels':{'item':'theirs'}},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}", "{'metadata':{" OURS "}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}"},
    {"metadata of the server in the manifest",
     "{'metadata':{'name':'a'," SERVER "," OURS "},'data':{'k':'1'}}",
     "{'metadata':{'name':'a','uid':'x','resourceVersion':'1','generation':9,'selfLink':'/',"
     "'managedFields':[]},'data':{'k':'1'}}",
     NULL, NULL, NULL, NULL},
    {"a status stays, also without a status subresource",
     "{'metadata':{" SERVER "," OURS "},'spec':{'a':1},'status':{'b':1}}",
     "{'metadata':{},'spec':{'a':2}}",
     "{'metadata':{" SERVER "," OURS "},'spec':{'a':2},'status':{'b':1}}", "{'spec':{'a':2}}", NULL,
     "{'metadata':{" SERVER "," OURS "},'spec':{'a':2},'status':{'b':1}}"},
    {"a status of the manifest is written", "{'metadata':{" SERVER "," OURS "},'status':{'b':1}}",
     "{'metadata':{},'status':{'b':2}}", "{'metadata':{" SERVER "," OURS "},'status':{'b':2}}",
     "{'status':{'b':2}}", NULL, "{'metadata':{" SERVER "," OURS "},'status':{'b':2}}"},
    {"a finalizer and an owner of somebody else",
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux'],'ownerReferences':[{'uid':'1'}]},"
     "'spec':{'a':1}}",
     "{'metadata':{},'spec':{'a':2}}",
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux'],'ownerReferences':[{'uid':'1'}]},"
     "'spec':{'a':2}}",
     "{'spec':{'a':2}}", NULL,
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux'],'ownerReferences':[{'uid':'1'}]},"
     "'spec':{'a':2}}"},
    {"finalizers and owners of the manifest are added",
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux','b'],'ownerReferences':[{'uid':'1'},"
     "{'uid':'2','name':'old'}]}}",
     "{'metadata':{'finalizers':['a','b'],'ownerReferences':[{'uid':'3'},"
     "{'uid':'2','name':'new'}]}}",
     "{'metadata':{" SERVER "," OURS
     ",'finalizers':['flux','b','a'],'ownerReferences':[{'uid':'1'},"
     "{'uid':'2','name':'new'},{'uid':'3'}]}}",
     /* A patch without precondition could remove what was added in the meantime. */
     "{'metadata':{'resourceVersion':'7','finalizers':['flux','b','a'],'ownerReferences':["
     "{'uid':'1'},{'uid':'2','name':'new'},{'uid':'3'}]}}",
     NULL,
     "{'metadata':{" SERVER "," OURS
     ",'finalizers':['flux','b','a'],'ownerReferences':[{'uid':'1'},"
     "{'uid':'2','name':'new'},{'uid':'3'}]}}"},
    {"empty lists in the manifest remove nothing",
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux'],'ownerReferences':[{'uid':'1'}]}}",
     "{'metadata':{'finalizers':[],'ownerReferences':null}}", NULL, NULL, NULL, NULL},
    {"the server rejects lists of another type",
     "{'metadata':{" SERVER "," OURS ",'finalizers':['flux']}}", "{'metadata':{'finalizers':'x'}}",
     "{'metadata':{" SERVER "," OURS ",'finalizers':'x'}}",
     "{'metadata':{'finalizers':'x','resourceVersion':'7'}}", NULL,
     "{'metadata':{" SERVER "," OURS ",'finalizers':'x'}}"},
    {"an object that is being deleted gets no finalizer",
     "{'metadata':{" SERVER "," OURS ",'deletionTimestamp':'t','finalizers':['flux']}}",
     "{'metadata':{'finalizers':['a']}}", NULL, NULL, NULL, NULL},
    {"members that are null are missing", "{'metadata':{" SERVER "," OURS "},'spec':{'a':1}}",
     "{'metadata':{'annotations':null},'spec':{'a':1,'b':null},'status':null}", NULL, NULL, NULL,
     NULL},
    {"null removes a member", "{'metadata':{" SERVER "," OURS "},'spec':{'a':1,'b':2}}",
     "{'metadata':{},'spec':{'a':1,'b':null}}",
     "{'metadata':{" SERVER "," OURS "},'spec':{'a':1,'b':null}}", "{'spec':{'b':null}}", NULL,
     "{'metadata':{" SERVER "," OURS "},'spec':{'a':1,'b':null}}"},
};

static void each_strategy_has_its_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(changes); i++) {
        const struct {
            enum update_strategy strategy;
            const char *expected;
        } strategies[] = {
            {STRATEGY_UPDATE, changes[i].update},
            {STRATEGY_PATCH, changes[i].patch},
            {STRATEGY_MERGE, changes[i].merge},
            {STRATEGY_MERGE_OVERWRITE, changes[i].overwrite},
        };
        cleanup_json json_t *live = parse(changes[i].live);
        cleanup_json json_t *live_copy = json_deep_copy(live);
        cleanup_json json_t *manifest = parse(changes[i].manifest);
        cleanup_json json_t *manifest_copy = json_deep_copy(manifest);

        for (size_t j = 0; j < array_length(strategies); j++) {
            enum update_strategy strategy = strategies[j].strategy;
            cleanup_result struct merge_result result =
                merge_for_change(live, manifest, strategy, &owner, NULL);

            print_message("%s: %s\n", strategy_name(strategy), changes[i].name);
            assert_result(&result, strategies[j].expected, strategy == STRATEGY_PATCH);
            assert_true(json_equal(live, live_copy));
            assert_true(json_equal(manifest, manifest_copy));
        }
    }
}

static void server_side_apply_sends_the_manifest(void **state)
{
    cleanup_json json_t *live = parse("{'metadata':{" SERVER "," OURS "},'spec':{'a':1,'b':2}}");
    cleanup_json json_t *manifest =
        parse("{'metadata':{'name':'a','managedFields':[],'resourceVersion':'1'},'spec':{'a':1}}");
    cleanup_result struct merge_result result =
        merge_for_change(live, manifest, STRATEGY_APPLY, &owner, NULL);

    (void)state;
    assert_result(&result, "{'metadata':{'name':'a'," OURS "},'spec':{'a':1}}", false);
}

static const struct {
    const char *name, *own_finalizers, *own_owners;
    const char *live, *manifest; /* metadata without what is the same in all */
    const char *metadata;        /* after an update; NULL: nothing changes */
} own_lists[] = {
    {"our finalizer leaves the manifest", "['a']", NULL, "'finalizers':['flux','a']", "'name':'x'",
     "'finalizers':['flux']"},
    {"our only finalizer leaves the manifest", "['a']", NULL, "'finalizers':['a']", "'name':'x'",
     NULL},
    {"one of ours leaves the manifest", "['a','b']", NULL, "'finalizers':['a','flux','b']",
     "'name':'x','finalizers':['b']", "'finalizers':['flux','b']"},
    {"ours was removed by somebody and is added again", "['a']", NULL, "'finalizers':['flux']",
     "'name':'x','finalizers':['a']", "'finalizers':['flux','a']"},
    {"our owner leaves the manifest", NULL, "[{'uid':'1','name':'before'}]",
     "'ownerReferences':[{'uid':'1','name':'n'},{'uid':'2'}]", "'name':'x'",
     "'ownerReferences':[{'uid':'2'}]"},
    {"an owner without uid", NULL, "[{'name':'n'}]",
     "'ownerReferences':[{'name':'n'},{'uid':'2'},{'name':'m'}]", "'name':'x'",
     "'ownerReferences':[{'uid':'2'},{'name':'m'}]"},
    {"what was ours is there no more", "['a']", "[{'uid':'1'}]", "'finalizers':['flux']",
     "'name':'x'", "same"},
};

static void own_finalizers_and_owners_are_taken_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(own_lists); i++) {
        cleanup_free char *live_text =
            xasprintf("{'metadata':{'name':'x'," SERVER "," OURS ",%s}}", own_lists[i].live);
        cleanup_free char *manifest_text = xasprintf("{'metadata':{%s}}", own_lists[i].manifest);
        cleanup_json json_t *live = parse(live_text);
        cleanup_json json_t *manifest = parse(manifest_text);
        cleanup_entry struct inventory_entry entry = {
            .own_finalizers =
                own_lists[i].own_finalizers ? parse(own_lists[i].own_finalizers) : NULL,
            .own_owners = own_lists[i].own_owners ? parse(own_lists[i].own_owners) : NULL,
        };
        cleanup_result struct merge_result result =
            merge_for_change(live, manifest, STRATEGY_UPDATE, &owner, &entry);
        const char *metadata = own_lists[i].metadata;
        cleanup_free char *expected = NULL;

        print_message("%s\n", own_lists[i].name);
        if (metadata && strcmp(metadata, "same") == 0) {
            assert_result(&result, NULL, false);
            continue;
        }
        expected = xasprintf("{'metadata':{'name':'x'," SERVER "," OURS "%s%s}}",
                             metadata ? "," : "", metadata ? metadata : "");
        assert_result(&result, expected, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_have_names),
        cmocka_unit_test(an_object_is_created_with_its_owner),
        cmocka_unit_test(an_owner_may_have_no_annotation),
        cmocka_unit_test(each_strategy_has_its_request),
        cmocka_unit_test(server_side_apply_sends_the_manifest),
        cmocka_unit_test(own_finalizers_and_owners_are_taken_back),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
