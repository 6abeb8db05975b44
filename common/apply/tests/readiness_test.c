/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/readiness_rows.h"
#include "common/base/memory.h"

static const struct row default_rows[] = {
    /* Pod */
    {POD("'conditions':[" CONDITION("Initialized", "False", "X") "," CONDITION("Ready", "True",
                                                                               "Y") "]"),
     READINESS_READY, NULL},
    {POD("'conditions':[" CONDITION("Ready", "False", "PodCompleted") "]"), READINESS_READY, NULL},
    {POD("'conditions':[" CONDITION("Ready", "False", "ContainersNotReady") "]"), READINESS_WAITING,
     "condition Ready is False (ContainersNotReady)"},
    {POD("'conditions':[" CONDITION("Ready", "Unknown", "") "]"), READINESS_WAITING,
     "condition Ready is Unknown"},
    /* What is not a reason by convention is not shown. */
    {POD("'conditions':[" CONDITION("Ready", "False", "the password is x") "]"), READINESS_WAITING,
     "condition Ready is False"},
    {POD("'conditions':[{'type':'Ready'}]"), READINESS_WAITING, "condition Ready is not set"},
    {POD("'conditions':[5,{'type':7}]"), READINESS_WAITING, "condition Ready is missing"},
    {POD("'conditions':{}"), READINESS_WAITING, "condition Ready is missing"},
    {POD(""), READINESS_WAITING, "condition Ready is missing"},
    {OBJECT("v1", "Pod", "'metadata':{}"), READINESS_WAITING, "condition Ready is missing"},
    /* Nothing fails early. */
    {POD("'phase':'Running','conditions':[" CONDITION(
         "Ready", "False",
         "ContainersNotReady") "],'containerStatuses':[{'state':{'waiting':{'reason':"
                               "'CrashLoopBackOff'}}}]"),
     READINESS_WAITING, "condition Ready is False (ContainersNotReady)"},

    /* Deployment */
    {DEPLOYMENT("'replicas':3", SEEN ",'replicas':3,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_READY, NULL},
    {DEPLOYMENT("'replicas':3",
                "'observedGeneration':3,'replicas':3,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_READY, NULL},
    {DEPLOYMENT("'replicas':3",
                "'observedGeneration':1,'replicas':3,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_WAITING, NOT_SEEN},
    {DEPLOYMENT("'replicas':3", "'replicas':3,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_WAITING, NOT_SEEN},
    {DEPLOYMENT("'replicas':3", SEEN ",'replicas':3,'updatedReplicas':2,'availableReplicas':3"),
     READINESS_WAITING, "2 of 3 replicas updated"},
    {DEPLOYMENT("'replicas':3", SEEN ",'replicas':4,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_WAITING, "4 replicas instead of 3"},
    {DEPLOYMENT("'replicas':3", SEEN ",'replicas':3,'updatedReplicas':3,'availableReplicas':1"),
     READINESS_WAITING, "1 of 3 replicas available"},
    {DEPLOYMENT("'replicas':0", SEEN), READINESS_READY, NULL},
    /* Absent replicas are none. */
    {DEPLOYMENT("'a':1", SEEN), READINESS_READY, NULL},
    {DEPLOYMENT("'a':1", SEEN ",'replicas':1,'updatedReplicas':1,'availableReplicas':1"),
     READINESS_WAITING, "1 of 0 replicas updated"},
    {DEPLOYMENT("'replicas':1", SEEN ",'conditions':[" CONDITION("Progressing", "False",
                                                                 "ProgressDeadlineExceeded") "]"),
     READINESS_WAITING, "0 of 1 replicas updated"},
    {OBJECT("apps/v1", "Deployment", "'spec':{'replicas':1}"), READINESS_WAITING,
     "0 of 1 replicas updated"},
    /* Any version, but only this group. */
    {OBJECT("apps/v1beta1", "Deployment", "'spec':{'replicas':1}"), READINESS_WAITING,
     "0 of 1 replicas updated"},
    {OBJECT("e.com/v1", "Deployment", "'spec':{'replicas':1}"), READINESS_READY, NULL},
    {OBJECT("v1", "Deployment", "'spec':{'replicas':1}"), READINESS_READY, NULL},

    /* StatefulSet */
    {STATEFUL_SET("'replicas':3", SEEN ",'updatedReplicas':3,'availableReplicas':3"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3", SEEN ",'updatedReplicas':4,'availableReplicas':5"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3", SEEN ",'updatedReplicas':2,'availableReplicas':3"),
     READINESS_WAITING, "2 of 3 replicas updated"},
    {STATEFUL_SET("'replicas':3", SEEN ",'updatedReplicas':3,'availableReplicas':2"),
     READINESS_WAITING, "2 of 3 replicas available"},
    {STATEFUL_SET("'replicas':3",
                  "'observedGeneration':1,'updatedReplicas':3,'availableReplicas':3"),
     READINESS_WAITING, NOT_SEEN},
    {STATEFUL_SET("'a':1", SEEN), READINESS_WAITING, "0 of 1 replicas updated"},
    {STATEFUL_SET("'replicas':0", SEEN), READINESS_READY, NULL},
    {OBJECT("apps/v1", "StatefulSet", "'status':{}"), READINESS_WAITING, "0 of 1 replicas updated"},
    /* Pods below the partition keep their revision. */
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':2"),
                  SEEN ",'updatedReplicas':1,'availableReplicas':3"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':1"),
                  SEEN ",'updatedReplicas':1,'availableReplicas':3"),
     READINESS_WAITING, "1 of 2 replicas updated"},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':5"), SEEN ",'availableReplicas':3"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':2"),
                  SEEN ",'updatedReplicas':1,'availableReplicas':2"),
     READINESS_WAITING, "2 of 3 replicas available"},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':-2"),
                  SEEN ",'updatedReplicas':3,'availableReplicas':3"),
     READINESS_READY, NULL},
    /* With OnDelete all pods keep their revision. */
    {STATEFUL_SET("'replicas':3,'updateStrategy':{'type':'OnDelete'}",
                  SEEN ",'updatedReplicas':0,'availableReplicas':3"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3,'updateStrategy':{'type':'OnDelete'}",
                  SEEN ",'updatedReplicas':3,'availableReplicas':2"),
     READINESS_WAITING, "2 of 3 replicas available"},
    {STATEFUL_SET("'replicas':3,'updateStrategy':{'type':'OnDelete'}",
                  "'observedGeneration':1,'availableReplicas':3"),
     READINESS_WAITING, NOT_SEEN},

    /* DaemonSet */
    {DAEMON_SET(ROLLING("'maxUnavailable':1"),
                SEEN ",'desiredNumberScheduled':4,'currentNumberScheduled':3"),
     READINESS_READY, NULL},
    {DAEMON_SET(ROLLING("'maxUnavailable':1"),
                SEEN ",'desiredNumberScheduled':4,'currentNumberScheduled':2"),
     READINESS_WAITING, "2 of 3 pods scheduled"},
    {DAEMON_SET(ROLLING("'maxUnavailable':'50%'"),
                SEEN ",'desiredNumberScheduled':5,'currentNumberScheduled':3"),
     READINESS_READY, NULL},
    {DAEMON_SET(ROLLING("'maxUnavailable':'50%'"),
                SEEN ",'desiredNumberScheduled':5,'currentNumberScheduled':2"),
     READINESS_WAITING, "2 of 3 pods scheduled"},
    {DAEMON_SET(ROLLING("'maxUnavailable':'100%'"), SEEN ",'desiredNumberScheduled':5"),
     READINESS_READY, NULL},
    {DAEMON_SET(ROLLING("'maxUnavailable':'50'"),
                SEEN ",'desiredNumberScheduled':5,'currentNumberScheduled':4"),
     READINESS_WAITING, "4 of 5 pods scheduled"},
    {DAEMON_SET(ROLLING("'maxUnavailable':'x%'"),
                SEEN ",'desiredNumberScheduled':5,'currentNumberScheduled':4"),
     READINESS_WAITING, "4 of 5 pods scheduled"},
    {DAEMON_SET("'updateStrategy':{'type':'OnDelete','rollingUpdate':{'maxUnavailable':1}}",
                SEEN ",'desiredNumberScheduled':4,'currentNumberScheduled':3"),
     READINESS_WAITING, "3 of 4 pods scheduled"},
    {DAEMON_SET(ROLLING(""), SEEN ",'desiredNumberScheduled':4,'currentNumberScheduled':4"),
     READINESS_READY, NULL},
    {DAEMON_SET(ROLLING(""), "'desiredNumberScheduled':0"), READINESS_WAITING, NOT_SEEN},
    /* Ready pods are not asked for. */
    {DAEMON_SET(ROLLING(""),
                SEEN ",'desiredNumberScheduled':4,'currentNumberScheduled':4,'numberReady':0"),
     READINESS_READY, NULL},
    {OBJECT("apps/v1", "DaemonSet", "'status':{}"), READINESS_READY, NULL},

    /* ReplicaSet, ReplicationController */
    {REPLICA_SET("'replicas':2", SEEN ",'readyReplicas':2"), READINESS_READY, NULL},
    {REPLICA_SET("'replicas':2", SEEN ",'readyReplicas':3"), READINESS_READY, NULL},
    {REPLICA_SET("'replicas':2", SEEN ",'readyReplicas':1"), READINESS_WAITING,
     "1 of 2 replicas ready"},
    {REPLICA_SET("'replicas':2", "'observedGeneration':1,'readyReplicas':2"), READINESS_WAITING,
     NOT_SEEN},
    {REPLICA_SET("'replicas':2", SEEN ",'readyReplicas':2,'conditions':[" CONDITION(
                                     "ReplicaFailure", "True", "FailedCreate") "]"),
     READINESS_WAITING, "condition ReplicaFailure is True (FailedCreate)"},
    {REPLICA_SET("'replicas':2", SEEN
                 ",'readyReplicas':2,'conditions':[" CONDITION("ReplicaFailure", "False", "X") "]"),
     READINESS_READY, NULL},
    {REPLICA_SET("'a':1", SEEN), READINESS_WAITING, "0 of 1 replicas ready"},
    {OBJECT("apps/v1", "ReplicaSet", "'status':{}"), READINESS_WAITING, "0 of 1 replicas ready"},
    {CONTROLLER("'replicas':2", SEEN ",'readyReplicas':2"), READINESS_READY, NULL},
    {CONTROLLER("'replicas':2", SEEN ",'readyReplicas':1"), READINESS_WAITING,
     "1 of 2 replicas ready"},
    {OBJECT("v1", "ReplicationController", "'status':{}"), READINESS_WAITING,
     "0 of 1 replicas ready"},

    /* All others exist. */
    {OBJECT("batch/v1", "Job", "'status':{'conditions':[" CONDITION("Failed", "True", "X") "]}"),
     READINESS_READY, NULL},
    {OBJECT("v1", "PersistentVolumeClaim", "'status':{'phase':'Pending'}"), READINESS_READY, NULL},
    {OBJECT("v1", "Service", "'spec':{'type':'LoadBalancer'}"), READINESS_READY, NULL},
    {OBJECT("networking.k8s.io/v1", "Ingress", "'spec':{}"), READINESS_READY, NULL},
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition", "'status':{}"), READINESS_READY,
     NULL},
    {OBJECT("v1", "Namespace", "'status':{'phase':'Terminating'}"), READINESS_READY, NULL},
    {OBJECT("e.com/v1", "Car",
            "'metadata':{'generation':5},'status':{'observedGeneration':1,'conditions':[" CONDITION(
                "Ready", "False", "X") "]}"),
     READINESS_READY, NULL},
    {"{}", READINESS_READY, NULL},
    {"[]", READINESS_READY, NULL},
};

static void the_default_rules_are_those_of_the_go_deployer(void **state)
{
    (void)state;
    check_rows(default_rows, array_length(default_rows), READINESS_DEFAULT);
}

static void numbers_of_any_size_are_compared(void **state)
{
    static const char *const kinds[] = {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"};
    static const char *const numbers[] = {
        "9223372036854775807", "-9223372036854775808", "1e300", "-1", "2.5", "'7'", "null"};

    (void)state;
    for (size_t i = 0; i < array_length(kinds) * array_length(numbers); i++) {
        const char *number = numbers[i % array_length(numbers)];
        cleanup_free char *text = xasprintf(
            "{'apiVersion':'apps/v1','kind':'%s','metadata':{'generation':1},'spec':{'replicas':%s,"
            "'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':%s,"
            "'partition':%s}}},'status':{'observedGeneration':1,'desiredNumberScheduled':%s,"
            "'replicas':%s}}",
            kinds[i / array_length(numbers)], number, number, number, number, number);
        cleanup_json json_t *object = parse(text);

        print_message("%s\n", text);
        for (size_t rules = READINESS_DEFAULT; rules <= READINESS_STRICT; rules++) {
            struct readiness_verdict verdict = readiness_judge(object, (enum readiness_rules)rules);

            assert_int_equal(verdict.readiness == READINESS_READY, !verdict.reason[0]);
            assert_int_not_equal(verdict.readiness, READINESS_FAILED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_rules_are_those_of_the_go_deployer),
        cmocka_unit_test(numbers_of_any_size_are_compared),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
