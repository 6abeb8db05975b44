/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of each update strategy. */
#include "common/apply/merge.h"

#include "common/apply/tests/parse.h"
#include "common/base/memory.h"

#define cleanup_result __attribute__((cleanup(merge_result_done)))
#define cleanup_entry __attribute__((cleanup(inventory_entry_done)))

static const struct apply_owner owner = {"item", "ours", NULL, NULL};
static const struct apply_owner full_owner = {"item", "ours", "owner", "ns/ours"};

static void assert_json(const json_t *value, const char *expected_text)
{
    cleanup_json json_t *expected = parse(expected_text);
    cleanup_free char *text = value ? doc_dump_sorted(value) : xstrdup("nothing");

    if (!value || !json_equal(value, expected))
        fail_msg("%s\ninstead of %s", text, expected_text);
}

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
#define OURS "'labels':{'item':'ours'}"

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

static void assert_result(const struct merge_result *result, const char *expected, bool is_patch)
{
    assert_int_equal(result->is_changed, expected != NULL);
    if (!expected) {
        assert_null(result->body);
        return;
    }
    assert_int_equal(result->is_patch, is_patch);
    assert_json(result->body, expected);
}

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
    {"an owner without uid is not recognised", NULL, "[{'name':'n'}]",
     "'ownerReferences':[{'name':'n'},{'uid':'2'}]", "'name':'x'", "same"},
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

#define SERVICE(spec_)                                                                             \
    "{'apiVersion':'v1','kind':'Service','metadata':{" OURS "},'spec':{" spec_ "}}"
#define JOB(spec_) "{'apiVersion':'batch/v1','kind':'Job','metadata':{" OURS "},'spec':{" spec_ "}}"
#define CORE(kind_, members_)                                                                      \
    "{'apiVersion':'v1','kind':'" kind_ "','metadata':{" OURS "}," members_ "}"
#define ALLOCATED                                                                                  \
    "'clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1'],'ipFamilies':['IPv4'],"                      \
    "'ipFamilyPolicy':'SingleStack'"

static const struct {
    const char *name, *live, *manifest;
    const char *body; /* of the PUT; NULL: nothing to do */
} kept[] = {
    {"a Service keeps its addresses", SERVICE("'a':1," ALLOCATED), SERVICE("'a':2"),
     SERVICE("'a':2," ALLOCATED)},
    {"an empty clusterIP is no clusterIP", SERVICE("'a':1," ALLOCATED),
     SERVICE("'a':1,'clusterIP':''"), NULL},
    {"another clusterIP is passed on", SERVICE(ALLOCATED), SERVICE("'clusterIP':'10.0.0.2'"),
     SERVICE("'clusterIP':'10.0.0.2'")},
    {"another ipFamilyPolicy needs other addresses", SERVICE(ALLOCATED),
     SERVICE("'ipFamilyPolicy':'PreferDualStack'"),
     SERVICE("'ipFamilyPolicy':'PreferDualStack','clusterIP':'10.0.0.1'")},
    {"the same ipFamilyPolicy keeps them", SERVICE(ALLOCATED),
     SERVICE("'ipFamilyPolicy':'SingleStack'"), NULL},
    {"an ExternalName has no address", SERVICE(ALLOCATED),
     SERVICE("'type':'ExternalName','externalName':'a.b'"),
     SERVICE("'type':'ExternalName','externalName':'a.b'")},
    {"node ports stay by port and protocol",
     SERVICE("'type':'NodePort','ports':[{'port':80,'protocol':'TCP','nodePort':30001},"
             "{'port':80,'protocol':'UDP','nodePort':30002},{'port':81,'nodePort':30003}]"),
     SERVICE("'type':'LoadBalancer','ports':[{'port':81,'nodePort':31000},"
             "{'port':80,'protocol':'UDP'},{'port':80,'nodePort':0},{'port':82},5]"),
     SERVICE("'type':'LoadBalancer','ports':[{'port':81,'nodePort':31000},"
             "{'port':80,'protocol':'UDP','nodePort':30002},{'port':80,'nodePort':30001},"
             "{'port':82},5]")},
    {"a ClusterIP has no node ports",
     SERVICE("'type':'NodePort','ports':[{'port':80,'nodePort':30001}]"),
     SERVICE("'type':'ClusterIP','ports':[{'port':80}]"),
     SERVICE("'type':'ClusterIP','ports':[{'port':80}]")},
    {"a Job keeps its selector and pod labels",
     JOB("'selector':{'matchLabels':{'uid':'u'}},"
         "'template':{'metadata':{'labels':{'uid':'u'}},'spec':{'a':1}}"),
     JOB("'selector':{'matchLabels':{'x':'y'}},"
         "'template':{'metadata':{'labels':{'x':'y'}},'spec':{'a':2}}"),
     JOB("'selector':{'matchLabels':{'uid':'u'}},"
         "'template':{'metadata':{'labels':{'uid':'u'}},'spec':{'a':2}}")},
    {"a Job without labels in its template",
     JOB("'selector':{'matchLabels':{'uid':'u'}},"
         "'template':{'metadata':{'labels':{'uid':'u'}},'spec':{'a':1}}"),
     JOB("'template':{'spec':{'a':1}}"), NULL},
    {"a ServiceAccount keeps its secrets", CORE("ServiceAccount", "'a':1,'secrets':[{'name':'t'}]"),
     CORE("ServiceAccount", "'a':2"), CORE("ServiceAccount", "'a':2,'secrets':[{'name':'t'}]")},
    {"secrets of the manifest win", CORE("ServiceAccount", "'secrets':[{'name':'t'}]"),
     CORE("ServiceAccount", "'secrets':[{'name':'u'}]"),
     CORE("ServiceAccount", "'secrets':[{'name':'u'}]")},
    {"an empty list is no list", CORE("ServiceAccount", "'secrets':[{'name':'t'}]"),
     CORE("ServiceAccount", "'secrets':[]"), NULL},
    {"a claim keeps its volume",
     CORE("PersistentVolumeClaim", "'spec':{'a':1,'volumeName':'v','storageClassName':'s'}"),
     CORE("PersistentVolumeClaim", "'spec':{'a':2,'storageClassName':null}"),
     CORE("PersistentVolumeClaim", "'spec':{'a':2,'volumeName':'v','storageClassName':'s'}")},
    {"a Pod keeps its node", CORE("Pod", "'spec':{'a':1,'nodeName':'n'}"),
     CORE("Pod", "'spec':{'a':2}"), CORE("Pod", "'spec':{'a':2,'nodeName':'n'}")},
    {"a kind of the same name in another group",
     "{'apiVersion':'e.com/v1','kind':'Service','metadata':{" OURS "},'spec':{'clusterIP':'x'}}",
     "{'apiVersion':'e.com/v1','kind':'Service','metadata':{" OURS "},'spec':{}}",
     "{'apiVersion':'e.com/v1','kind':'Service','metadata':{" OURS "},'spec':{}}"},
};

static void what_the_server_allocated_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(kept); i++) {
        cleanup_json json_t *live = parse(kept[i].live);
        cleanup_json json_t *manifest = parse(kept[i].manifest);
        cleanup_result struct merge_result update =
            merge_for_change(live, manifest, STRATEGY_UPDATE, &owner, NULL);
        cleanup_result struct merge_result patch =
            merge_for_change(live, manifest, STRATEGY_PATCH, &owner, NULL);

        print_message("%s\n", kept[i].name);
        assert_result(&update, kept[i].body, false);
        assert_int_equal(patch.is_changed, update.is_changed);
    }
}

#define ENTRY(who_, fields_) "{" who_ ",'operation':'Update','fieldsV1':{" fields_ "}}"
#define CONTROLLER "'manager':'kube-controller-manager'"
#define STATUS "'manager':'any','subresource':'status'"
#define PERSON "'manager':'kubectl-edit'"

static const struct {
    const char *name, *entry;
    const char *live, *manifest; /* spec */
    const char *spec;            /* of the PUT; NULL: nothing to do */
} owned[] = {
    {"of a controller", ENTRY(CONTROLLER, "'f:spec':{'f:x':{}}"), "'a':1,'x':1", "'a':2",
     "'a':2,'x':1"},
    {"of a controller, and nothing else changed", ENTRY(CONTROLLER, "'f:spec':{'f:x':{}}"),
     "'a':1,'x':1", "'a':1", NULL},
    {"written through a subresource",
     ENTRY("'manager':'any','subresource':'scale'", "'f:spec':{'f:replicas':{}}"),
     "'a':1,'replicas':3", "'a':2", "'a':2,'replicas':3"},
    {"of somebody", ENTRY(PERSON, "'f:spec':{'f:x':{}}"), "'a':1,'x':1", "'a':1", "'a':1"},
    {"set by the manifest", ENTRY(CONTROLLER, "'f:spec':{'f:x':{}}"), "'x':1", "'x':2", "'x':2"},
    {"the rest of an object", ENTRY(CONTROLLER, "'f:spec':{'f:r':{'.':{},'f:x':{},'f:y':{}}}"),
     "'r':{'x':1,'y':1,'z':1}", "'r':{'x':2}", "'r':{'x':2,'y':1}"},
    {"an object that the manifest does not have",
     ENTRY(CONTROLLER, "'f:spec':{'f:r':{'.':{},'f:x':{}}}"), "'a':1,'r':{'x':1,'z':1}", "'a':1",
     "'a':1,'r':{'x':1}"},
    {"an object that the manifest has as null",
     ENTRY(CONTROLLER, "'f:spec':{'f:r':{'.':{},'f:x':{}}}"), "'a':1,'r':{'x':1}", "'a':1,'r':null",
     NULL},
    {"only the existence of an object", ENTRY(CONTROLLER, "'f:spec':{'f:r':{'.':{}}}"),
     "'a':1,'r':{'x':1}", "'a':1", "'a':1"},
    {"an atomic object", ENTRY(CONTROLLER, "'f:spec':{'f:r':{}}"), "'a':1,'r':{'x':1}", "'a':1",
     NULL},
    {"a list with elements that have owners",
     ENTRY(CONTROLLER, "'f:spec':{'f:l':{'k:{\\\"name\\\":\\\"x\\\"}':{'.':{}}}}"),
     "'a':1,'l':[{'name':'x'}]", "'a':1", NULL},
    {"a list of the manifest", ENTRY(CONTROLLER, "'f:spec':{'f:l':{}}"), "'l':[1,2]", "'l':[1]",
     "'l':[1]"},
    {"another type than in the manifest", ENTRY(CONTROLLER, "'f:spec':{'f:r':{'f:x':{}}}"),
     "'r':{'x':1}", "'r':5", "'r':5"},
    {"a field that is not there", ENTRY(CONTROLLER, "'f:spec':{'f:x':{},'f:y':{'f:z':{}}}"),
     "'a':1", "'a':2", "'a':2"},
    {"no fields", "{" CONTROLLER ",'fieldsV1':5}", "'a':1,'x':1", "'a':1", "'a':1"},
    {"strange fields", ENTRY(CONTROLLER, "'f':{},'':5,'f:spec':{'f:x':7,'x':{},'f:':{}}"),
     "'a':1,'x':1", "'a':1", NULL},
};

static void fields_of_controllers_stay(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(owned); i++) {
        cleanup_free char *live_text =
            xasprintf("{'metadata':{" OURS ",'managedFields':[%s]},'spec':{%s}}", owned[i].entry,
                      owned[i].live);
        cleanup_free char *manifest_text = xasprintf("{'spec':{%s}}", owned[i].manifest);
        cleanup_free char *body = NULL;
        cleanup_json json_t *live = parse(live_text);
        cleanup_json json_t *manifest = parse(manifest_text);
        cleanup_result struct merge_result result =
            merge_for_change(live, manifest, STRATEGY_UPDATE, &owner, NULL);

        print_message("%s\n", owned[i].name);
        if (owned[i].spec)
            body = xasprintf("{'metadata':{" OURS "},'spec':{%s}}", owned[i].spec);
        assert_result(&result, body, false);
    }
}

static void annotations_of_the_deployment_controller_stay(void **state)
{
    cleanup_json json_t *live =
        parse("{'metadata':{" OURS ",'annotations':{'revision':'3','x':'y'},'finalizers':['f'],"
              "'managedFields':[" ENTRY(
                  STATUS, "'f:metadata':{'f:annotations':{'.':{},'f:revision':{}},"
                          "'f:finalizers':{'.':{}}},'f:status':{'f:a':{}}") "]},'status':{'a':1}}");
    cleanup_json json_t *manifest = parse("{'metadata':{}}");
    cleanup_result struct merge_result update =
        merge_for_change(live, manifest, STRATEGY_UPDATE, &owner, NULL);
    cleanup_result struct merge_result patch =
        merge_for_change(live, manifest, STRATEGY_PATCH, &owner, NULL);

    (void)state;
    assert_result(&update,
                  "{'metadata':{" OURS ",'annotations':{'revision':'3'},'finalizers':['f']},"
                  "'status':{'a':1}}",
                  false);
    assert_result(&patch, "{'metadata':{'annotations':{'x':null}}}", true);
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
        cmocka_unit_test(what_the_server_allocated_stays),
        cmocka_unit_test(fields_of_controllers_stay),
        cmocka_unit_test(annotations_of_the_deployment_controller_stay),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
