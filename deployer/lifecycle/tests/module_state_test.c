/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/parse.h"
#include "deployer/lifecycle/module_state.h"

#define CONDITION(type_, status_, reason_)                                                         \
    "{'type':'" type_ "','status':'" status_ "','reason':'" reason_ "','message':'canary'}"
#define DEPLOYMENT(status_)                                                                        \
    "{'kind':'Deployment','metadata':{'generation':2},'spec':{'replicas':2},'status':{" status_ "}}"
#define SET(status_)                                                                               \
    "{'kind':'StatefulSet','metadata':{'generation':2},'spec':{'replicas':1},'status':{" status_   \
    "}}"
#define SEEN "'observedGeneration':2"
#define POD(container_) "{'status':{'containerStatuses':[" container_ "]}}"

struct row {
    const char *workload, *pod;
    enum module_state state;
    const char *reason;
};

static const struct row rows[] = {
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Available", "True", "x") "," CONDITION(
         "Progressing", "True", "NewReplicaSetAvailable") "]"),
     NULL, MODULE_READY, ""},
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Available", "True", "x") "," CONDITION(
         "Progressing", "True", "ReplicaSetUpdated") "]"),
     NULL, MODULE_PROCESSING, "the rollout is not complete: ReplicaSetUpdated"},
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Available", "False", "x") "," CONDITION(
         "Progressing", "True", "NewReplicaSetCreated") "]"),
     NULL, MODULE_PROCESSING, "the rollout is not complete: NewReplicaSetCreated"},
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Available", "False", "x") "," CONDITION(
         "Progressing", "True", "NewReplicaSetAvailable") "]"),
     NULL, MODULE_PROCESSING, "condition Available is not True"},
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Available", "True", "x") "," CONDITION(
         "Progressing", "False", "ProgressDeadlineExceeded") "]"),
     NULL, MODULE_ERROR, "condition Progressing is False (ProgressDeadlineExceeded)"},
    {DEPLOYMENT(SEEN ",'conditions':[" CONDITION("Progressing", "True", "SomethingElse") "]"), NULL,
     MODULE_ERROR, "condition Progressing has the reason SomethingElse"},
    /* The original calls these an error. */
    {DEPLOYMENT(""), NULL, MODULE_PROCESSING, "its controller has not seen it yet"},
    {DEPLOYMENT("'observedGeneration':1,'conditions':[" CONDITION("Progressing", "False",
                                                                  "ProgressDeadlineExceeded") "]"),
     NULL, MODULE_PROCESSING, "its controller has not seen the last change yet"},
    /* progressDeadlineSeconds at its maximum: no condition Progressing, ever. */
    {DEPLOYMENT(SEEN ",'updatedReplicas':2,'conditions':[" CONDITION("Available", "True", "x") "]"),
     NULL, MODULE_READY, ""},
    {DEPLOYMENT(SEEN ",'updatedReplicas':1,'conditions':[" CONDITION("Available", "True", "x") "]"),
     NULL, MODULE_PROCESSING, "the rollout is not complete"},

    {SET(SEEN ",'readyReplicas':1"), NULL, MODULE_READY, ""},
    {SET(SEEN ",'readyReplicas':0"), POD("{'started':true,'ready':false}"), MODULE_PROCESSING,
     "0 of 1 replicas ready"},
    {SET(SEEN), POD("{'started':true,'ready':true}"), MODULE_READY, ""},
    {SET(SEEN), POD("{'started':false}"), MODULE_ERROR,
     "0 of 1 replicas ready, and the first container of its first pod has not started"},
    {SET(SEEN), POD(""), MODULE_ERROR,
     "0 of 1 replicas ready, and the first container of its first pod has not started"},
    {SET(SEEN), NULL, MODULE_ERROR, "0 of 1 replicas ready, and it has no pod"},
    {SET(""), NULL, MODULE_PROCESSING, "its controller has not seen it yet"},
};

static void managers_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(rows); i++) {
        cleanup_json json_t *workload = parse(rows[i].workload);
        cleanup_json json_t *pod = rows[i].pod ? parse(rows[i].pod) : NULL;
        struct state_verdict verdict = manager_state(workload, pod);

        print_message("%s -> %s\n", rows[i].workload, verdict.reason);
        assert_int_equal(verdict.state, rows[i].state);
        assert_string_equal(verdict.reason, rows[i].reason);
    }
}

#define CHECK(path_, value_, state_)                                                               \
    "{'jsonPath':'" path_ "','value':'" value_ "','mappedState':'" state_ "'}"

/* At 00:06:00 of the day that the resources were created. */
static const struct {
    const char *resource, *checks;
    bool has_state;
    enum module_state state;
    const char *reason;
} resources[] = {
    {"{'status':{'state':'Ready'}}", NULL, true, MODULE_READY, ""},
    {"{'status':{'state':'Error'}}", NULL, true, MODULE_ERROR, "its status.state is Error"},
    {"{'status':{'state':'Deleting'}}", "[]", true, MODULE_DELETING,
     "its status.state is Deleting"},
    {"{'status':{'state':'Bogus'}}", NULL, true, MODULE_WARNING,
     "status.state has the unknown value \"Bogus\""},
    {"{'metadata':{'creationTimestamp':'1970-01-01T00:05:00Z'}}", NULL, false, MODULE_PROCESSING,
     "it has no status.state yet"},
    {"{'metadata':{'creationTimestamp':'1970-01-01T00:00:59Z'}}", NULL, false, MODULE_WARNING,
     "it has no status.state for more than five minutes"},
    {"{}", NULL, false, MODULE_PROCESSING, "it has no status.state yet"},
    {"{'status':{'phase':'up','health':'good','state':'Error'}}",
     "[" CHECK("status.phase", "up", "Ready") "," CHECK("status.health", "good", "Ready") "]", true,
     MODULE_READY, ""},
    {"{'status':{'phase':'up','health':'bad'}}",
     "[" CHECK("status.phase", "up", "Ready") "," CHECK("status.health", "good", "Ready") "]", true,
     MODULE_PROCESSING, "no state of the module's customStateCheck matches"},
    {"{'status':{'phase':'up','health':'bad'}}",
     "[" CHECK("status.phase", "up", "Ready") "," CHECK("status.health", "bad", "Error") "]", true,
     MODULE_ERROR, "by the module's customStateCheck"},
    {"{}", "[" CHECK("status.phase", "up", "Ready") "]", true, MODULE_PROCESSING,
     "no state of the module's customStateCheck matches"},
    {"{'status':{'phase':'up'}}",
     "[" CHECK("status.phase", "up", "Ready") "," CHECK("status.[", "bad", "Error") "]", true,
     MODULE_ERROR,
     "its ModuleTemplate: spec.customStateCheck[1].jsonPath: invalid JSONPath at offset 7: "
     "expected a member name"},
};

static void resources_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(resources); i++) {
        cleanup_json json_t *resource = parse(resources[i].resource);
        cleanup_json json_t *checks = resources[i].checks ? parse(resources[i].checks) : NULL;
        struct state_verdict verdict = resource_state(resource, checks, 6 * 60 * 1000);

        print_message("%s -> %s\n", resources[i].resource, verdict.reason);
        assert_int_equal(verdict.state, resources[i].state);
        assert_string_equal(verdict.reason, resources[i].reason);
        assert_int_equal(resource_has_state(resource, checks), resources[i].has_state);
    }
}

static void checks_are_validated(void **state)
{
    cleanup_json json_t *good =
        parse("[" CHECK("status.phase", "up", "Ready") "," CHECK("a", "b", "") "]");
    cleanup_json json_t *path =
        parse("[" CHECK("a", "b", "Ready") "," CHECK("a[", "b", "Ready") "]");
    cleanup_json json_t *mapped = parse("[" CHECK("a", "b", "Fine") "]");
    struct error err = {0};

    (void)state;
    assert_int_equal(state_checks_validate(NULL, &err), 0);
    assert_int_equal(state_checks_validate(good, &err), 0);
    assert_int_equal(state_checks_validate(path, &err), -1);
    assert_non_null(strstr(err.text, "spec.customStateCheck[1].jsonPath: invalid JSONPath"));
    assert_int_equal(state_checks_validate(mapped, &err), -1);
    assert_non_null(
        strstr(err.text, "spec.customStateCheck[0].mappedState: \"Fine\" is not a state"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(managers_are_judged),
        cmocka_unit_test(resources_are_judged),
        cmocka_unit_test(checks_are_validated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
