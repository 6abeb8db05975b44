/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a live object that a manifest replaces. */
#include "common/apply/tests/merge_checks.h"

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
    {"an empty clusterIP counts as missing", SERVICE("'a':1," ALLOCATED),
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
    {"an empty list counts as missing", CORE("ServiceAccount", "'secrets':[{'name':'t'}]"),
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
    {"an atomic object of the manifest", ENTRY(CONTROLLER, "'f:spec':{'f:r':{}}"), "'r':{'x':1}",
     "'r':{'y':2}", "'r':{'y':2}"},
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
        cmocka_unit_test(what_the_server_allocated_stays),
        cmocka_unit_test(fields_of_controllers_stay),
        cmocka_unit_test(annotations_of_the_deployment_controller_stay),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
