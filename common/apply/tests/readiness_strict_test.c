/* SPDX-License-Identifier: Apache-2.0 */
#include "common/apply/tests/readiness_rows.h"

#define CAR(members_) OBJECT("e.com/v1", "Car", members_)
#define ROLLED_OUT                                                                                 \
    SEEN                                                                                           \
        ",'replicas':3,'updatedReplicas':3,'availableReplicas':3,'readyReplicas':3,"               \
        "'conditions':[" CONDITION("Available", "True", "MinimumReplicasAvailable") "," CONDITION( \
            "Progressing", "True", "NewReplicaSetAvailable") "]"
#define COUNTS(replicas_, updated_, available_, ready_)                                            \
    SEEN ",'replicas':" replicas_ ",'updatedReplicas':" updated_                                   \
         ",'availableReplicas':" available_ ",'readyReplicas':" ready_                             \
         ",'conditions':[" CONDITION("Available", "True", "X") "]"
#define SCHEDULED(current_, updated_, available_, ready_)                                          \
    SEEN ",'desiredNumberScheduled':3,'currentNumberScheduled':" current_                          \
         ",'updatedNumberScheduled':" updated_ ",'numberAvailable':" available_                    \
         ",'numberReady':" ready_

static const struct row strict_rows[] = {
    /* Every kind */
    {OBJECT("v1", "ConfigMap", "'metadata':{'deletionTimestamp':'t'}"), READINESS_WAITING,
     "the object is being deleted"},
    {CAR("'metadata':{'generation':2},'status':{'observedGeneration':1}"), READINESS_WAITING,
     NOT_SEEN},
    {CAR("'metadata':{'generation':2},'status':{'observedGeneration':3}"), READINESS_WAITING,
     NOT_SEEN},
    {CAR("'metadata':{'generation':2},'status':{'observedGeneration':-1}"), READINESS_WAITING,
     NOT_SEEN},
    {CAR("'metadata':{'generation':2},'status':{'observedGeneration':2}"), READINESS_READY, NULL},
    {CAR("'metadata':{'generation':2},'status':{}"), READINESS_READY, NULL},
    {CAR("'status':{'conditions':[" CONDITION("Reconciling", "True", "Progressing") "]}"),
     READINESS_WAITING, "condition Reconciling is True (Progressing)"},
    {CAR("'status':{'conditions':[" CONDITION("Reconciling", "False", "Progressing") "]}"),
     READINESS_READY, NULL},
    {CAR("'status':{'conditions':[" CONDITION("Stalled", "True", "BuildFailed") "]}"),
     READINESS_FAILED, "condition Stalled is True (BuildFailed)"},
    {CAR("'status':{'conditions':[" CONDITION("Stalled", "False", "X") "]}"), READINESS_READY,
     NULL},
    {CAR("'status':{'conditions':[" CONDITION("Stalled", "True",
                                              "X") "," CONDITION("Reconciling", "True", "Y") "]}"),
     READINESS_WAITING, "condition Reconciling is True (Y)"},

    /* Anything else */
    {CAR("'status':{'conditions':[" CONDITION("Ready", "True", "X") "]}"), READINESS_READY, NULL},
    {CAR("'status':{'conditions':[" CONDITION("Ready", "False", "X") "]}"), READINESS_WAITING,
     "condition Ready is False (X)"},
    {CAR("'status':{'conditions':[" CONDITION("Ready", "Unknown", "X") "]}"), READINESS_WAITING,
     "condition Ready is Unknown (X)"},
    {CAR("'status':{'conditions':[" CONDITION("Other", "False", "X") "]}"), READINESS_READY, NULL},
    {CAR("'status':'x'"), READINESS_READY, NULL},
    {OBJECT("networking.k8s.io/v1", "Ingress", "'spec':{}"), READINESS_READY, NULL},
    {"{}", READINESS_READY, NULL},
    {"5", READINESS_READY, NULL},

    /* Deployment */
    {DEPLOYMENT("'replicas':3,'progressDeadlineSeconds':600", ROLLED_OUT), READINESS_READY, NULL},
    {DEPLOYMENT("'replicas':3", COUNTS("3", "3", "3", "3")), READINESS_READY, NULL},
    {DEPLOYMENT("'replicas':3", COUNTS("2", "3", "3", "3")), READINESS_WAITING,
     "2 of 3 replicas created"},
    {DEPLOYMENT("'replicas':3", COUNTS("3", "2", "3", "3")), READINESS_WAITING,
     "2 of 3 replicas updated"},
    {DEPLOYMENT("'replicas':3", COUNTS("4", "3", "3", "3")), READINESS_WAITING,
     "1 old replicas to be terminated"},
    {DEPLOYMENT("'replicas':3", COUNTS("3", "3", "1", "3")), READINESS_WAITING,
     "1 of 3 replicas available"},
    {DEPLOYMENT("'replicas':3", COUNTS("3", "3", "3", "2")), READINESS_WAITING,
     "2 of 3 replicas ready"},
    /* Absent replicas are one. */
    {DEPLOYMENT("'a':1", COUNTS("0", "0", "0", "0")), READINESS_WAITING, "0 of 1 replicas created"},
    {DEPLOYMENT("'replicas':0", COUNTS("0", "0", "0", "0")), READINESS_READY, NULL},
    {DEPLOYMENT("'replicas':3,'progressDeadlineSeconds':600", COUNTS("3", "3", "3", "3")),
     READINESS_WAITING, "its new ReplicaSet is not available yet"},
    {DEPLOYMENT("'replicas':0,'progressDeadlineSeconds':600",
                SEEN ",'conditions':[" CONDITION("Available", "True", "X") "," CONDITION(
                    "Progressing", "True", "ReplicaSetUpdated") "]"),
     READINESS_WAITING, "its new ReplicaSet is not available yet"},
    {DEPLOYMENT("'replicas':0,'progressDeadlineSeconds':600",
                SEEN ",'conditions':[" CONDITION("Available", "True", "X") "," CONDITION(
                    "Progressing", "Unknown", "NewReplicaSetAvailable") "]"),
     READINESS_WAITING, "its new ReplicaSet is not available yet"},
    {DEPLOYMENT("'replicas':0", SEEN), READINESS_WAITING, "condition Available is not True"},
    {DEPLOYMENT("'replicas':0", SEEN ",'conditions':[" CONDITION("Available", "False", "X") "]"),
     READINESS_WAITING, "condition Available is not True"},
    {DEPLOYMENT("'replicas':3", SEEN ",'conditions':[" CONDITION("Progressing", "False",
                                                                 "ProgressDeadlineExceeded") "]"),
     READINESS_FAILED, "condition Progressing is False (ProgressDeadlineExceeded)"},
    /* The deadline was exceeded by an earlier generation. */
    {DEPLOYMENT("'replicas':3", "'observedGeneration':1,'conditions':[" CONDITION(
                                    "Progressing", "False", "ProgressDeadlineExceeded") "]"),
     READINESS_WAITING, NOT_SEEN},

    /* StatefulSet */
    {STATEFUL_SET("'updateStrategy':{'type':'OnDelete'}", SEEN), READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':3,'readyReplicas':3,'currentReplicas':3,"
                                       "'currentRevision':'a','updateRevision':'a'"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':3,'readyReplicas':3,'currentReplicas':3,"
                                       "'currentRevision':'a','updateRevision':'b'"),
     READINESS_WAITING, "its update is not complete"},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':2"), READINESS_WAITING,
     "2 of 3 replicas created"},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':3,'readyReplicas':1"), READINESS_WAITING,
     "1 of 3 replicas ready"},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':5,'readyReplicas':3"), READINESS_WAITING,
     "2 replicas to be terminated"},
    {STATEFUL_SET("'replicas':3", SEEN ",'replicas':3,'readyReplicas':3,'currentReplicas':2"),
     READINESS_WAITING, "2 of 3 replicas updated"},
    {STATEFUL_SET("'a':1", SEEN), READINESS_WAITING, "0 of 1 replicas created"},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':2"),
                  SEEN ",'replicas':3,'readyReplicas':3,'updatedReplicas':1,"
                       "'currentRevision':'a','updateRevision':'b'"),
     READINESS_READY, NULL},
    {STATEFUL_SET("'replicas':3," ROLLING("'partition':0"),
                  SEEN ",'replicas':3,'readyReplicas':3,'updatedReplicas':1"),
     READINESS_WAITING, "1 of 3 replicas updated"},

    /* DaemonSet */
    {DAEMON_SET("", SCHEDULED("3", "3", "3", "3")), READINESS_READY, NULL},
    {DAEMON_SET("", SCHEDULED("2", "3", "3", "3")), READINESS_WAITING, "2 of 3 pods scheduled"},
    {DAEMON_SET("", SCHEDULED("3", "2", "3", "3")), READINESS_WAITING, "2 of 3 pods updated"},
    {DAEMON_SET("", SCHEDULED("3", "3", "2", "3")), READINESS_WAITING, "2 of 3 pods available"},
    {DAEMON_SET("", SCHEDULED("3", "3", "3", "2")), READINESS_WAITING, "2 of 3 pods ready"},
    {DAEMON_SET("", SEEN ",'desiredNumberScheduled':0"), READINESS_READY, NULL},
    {DAEMON_SET("", SEEN), READINESS_WAITING, "its controller has not seen it yet"},
    {DAEMON_SET("", "'desiredNumberScheduled':0"), READINESS_WAITING,
     "its controller has not seen it yet"},
    {OBJECT("apps/v1", "DaemonSet", "'status':{'observedGeneration':1,'desiredNumberScheduled':0}"),
     READINESS_WAITING, "its controller has not seen it yet"},

    /* ReplicaSet */
    {REPLICA_SET("'replicas':2", SEEN ",'replicas':2,'fullyLabeledReplicas':2,"
                                      "'availableReplicas':2,'readyReplicas':2"),
     READINESS_READY, NULL},
    {REPLICA_SET("'replicas':2", SEEN ",'fullyLabeledReplicas':1"), READINESS_WAITING,
     "1 of 2 replicas labelled"},
    {REPLICA_SET("'replicas':2", SEEN ",'fullyLabeledReplicas':2,'availableReplicas':1"),
     READINESS_WAITING, "1 of 2 replicas available"},
    {REPLICA_SET("'replicas':2",
                 SEEN ",'fullyLabeledReplicas':2,'availableReplicas':2,'readyReplicas':1"),
     READINESS_WAITING, "1 of 2 replicas ready"},
    {REPLICA_SET("'replicas':2", SEEN ",'replicas':3,'fullyLabeledReplicas':2,"
                                      "'availableReplicas':2,'readyReplicas':2"),
     READINESS_WAITING, "1 replicas to be terminated"},
    {REPLICA_SET("'replicas':2",
                 SEEN ",'conditions':[" CONDITION("ReplicaFailure", "True", "FailedCreate") "]"),
     READINESS_WAITING, "condition ReplicaFailure is True (FailedCreate)"},
    {REPLICA_SET("'a':1", SEEN), READINESS_WAITING, "0 of 1 replicas labelled"},
    {CONTROLLER("'replicas':1", SEEN), READINESS_WAITING, "0 of 1 replicas labelled"},

    /* Pod */
    {POD("'phase':'Succeeded'"), READINESS_READY, NULL},
    {POD("'phase':'Failed'"), READINESS_READY, NULL},
    {POD("'phase':'Running','conditions':[" CONDITION("Ready", "True", "X") "]"), READINESS_READY,
     NULL},
    {POD("'phase':'Running','conditions':[" CONDITION("Ready", "False", "X") "]"),
     READINESS_WAITING, "the pod runs, but is not ready"},
    {POD("'phase':'Running','containerStatuses':[{'state':{'running':{}}},"
         "{'name':'c','state':{'waiting':{'reason':'CrashLoopBackOff','message':'canary'}},"
         "'lastState':{'terminated':{'exitCode':3,'message':'canary'}}}]"),
     READINESS_FAILED,
     "a container crashes again and again (container c: CrashLoopBackOff, exit code 3)"},
    {POD("'phase':'Running','containerStatuses':[{'state':{'waiting':{'reason':'Other'}}},5]"),
     READINESS_WAITING, "the pod runs, but is not ready"},
    {POD("'phase':'Pending','conditions':[" CONDITION("PodScheduled", "False",
                                                      "Unschedulable") "]"),
     READINESS_WAITING, "condition PodScheduled is False (Unschedulable)"},
    {POD("'phase':'Pending','conditions':[" CONDITION("PodScheduled", "True", "X") "]"),
     READINESS_WAITING, "the pod does not run yet"},
    {POD("'phase':'Pending','initContainerStatuses':[{'name':'i','state':{'terminated':"
         "{'exitCode':7}}}],'containerStatuses':[{'state':{'waiting':{'reason':"
         "'CrashLoopBackOff'}}}]"),
     READINESS_WAITING, "the pod does not run yet (container i: exit code 7)"},
    {POD("'phase':'Pending','containerStatuses':[{'name':'a','state':{'waiting':{'reason':"
         "'ContainerCreating'}}},{'name':'b','state':{'waiting':{'reason':'no word'}}},"
         "{'name':'c','state':{'waiting':{'reason':'ImagePullBackOff','message':'canary'}}}]"),
     READINESS_WAITING, "the pod does not run yet (container c: ImagePullBackOff)"},
    {POD("'phase':'Pending','containerStatuses':[{'name':'a b','state':{'waiting':{'reason':"
         "'ErrImagePull'}}}]"),
     READINESS_WAITING, "the pod does not run yet (container ?: ErrImagePull)"},
    {POD(""), READINESS_WAITING, "the pod does not run yet"},

    /* Job */
    {OBJECT("batch/v1", "Job", "'status':{'startTime':'t'}"), READINESS_READY, NULL},
    {OBJECT("batch/v1", "Job", "'status':{}"), READINESS_WAITING, "the job has not started"},
    {OBJECT("batch/v1", "Job", "'status':{'conditions':[" CONDITION("Suspended", "True", "X") "]}"),
     READINESS_READY, NULL},
    {OBJECT("batch/v1", "Job", "'status':{'conditions':[" CONDITION("Complete", "True", "X") "]}"),
     READINESS_READY, NULL},
    {OBJECT("batch/v1", "Job",
            "'status':{'startTime':'t','conditions':[" CONDITION("Failed", "True",
                                                                 "BackoffLimitExceeded") "]}"),
     READINESS_FAILED, "condition Failed is True (BackoffLimitExceeded)"},
    {OBJECT("batch/v1", "Job",
            "'status':{'startTime':'t','conditions':[" CONDITION("Failed", "False", "X") "]}"),
     READINESS_READY, NULL},

    /* PersistentVolumeClaim, Service */
    {OBJECT("v1", "PersistentVolumeClaim", "'status':{'phase':'Bound'}"), READINESS_READY, NULL},
    {OBJECT("v1", "PersistentVolumeClaim", "'status':{'phase':'Pending'}"), READINESS_WAITING,
     "the claim is not bound to a volume"},
    {OBJECT("v1", "PersistentVolumeClaim", "'spec':{}"), READINESS_WAITING,
     "the claim is not bound to a volume"},
    {OBJECT("v1", "Service", "'spec':{'type':'LoadBalancer','clusterIP':'10.0.0.1'}"),
     READINESS_READY, NULL},
    {OBJECT("v1", "Service", "'spec':{'type':'LoadBalancer'}"), READINESS_WAITING,
     "the service has no address"},
    {OBJECT("v1", "Service", "'spec':{'type':'ClusterIP'}"), READINESS_READY, NULL},

    /* CustomResourceDefinition */
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition",
            "'status':{'conditions':[" CONDITION("NamesAccepted", "True", "X") "," CONDITION(
                "Established", "True", "Y") "]}"),
     READINESS_READY, NULL},
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition",
            "'status':{'conditions':[" CONDITION("Established", "False", "Installing") "]}"),
     READINESS_WAITING, "the kind is not established yet"},
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition",
            "'status':{'conditions':[" CONDITION("Established", "False", "NotAccepted") "]}"),
     READINESS_FAILED, "condition Established is False (NotAccepted)"},
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition",
            "'status':{'conditions':[" CONDITION("Established", "True", "X") "," CONDITION(
                "NamesAccepted", "False", "PluralConflict") "]}"),
     READINESS_FAILED, "condition NamesAccepted is False (PluralConflict)"},
    {OBJECT("apiextensions.k8s.io/v1", "CustomResourceDefinition", "'status':{}"),
     READINESS_WAITING, "the kind is not established yet"},

    /* Ready when they exist, whatever their conditions are. */
    {OBJECT("policy/v1", "PodDisruptionBudget",
            "'status':{'conditions':[" CONDITION("Ready", "False", "X") "]}"),
     READINESS_READY, NULL},
    {OBJECT("v1", "ConfigMap", "'data':{}"), READINESS_READY, NULL},
    {OBJECT("v1", "Secret", "'data':{}"), READINESS_READY, NULL},
    {OBJECT("batch/v1", "CronJob",
            "'status':{'conditions':[" CONDITION("Ready", "False", "X") "]}"),
     READINESS_READY, NULL},
};

static void the_strict_rules_are_those_of_kstatus(void **state)
{
    (void)state;
    check_rows(strict_rows, array_length(strict_rows), READINESS_STRICT);
}

#define FLUX(metadata_, members_)                                                                  \
    OBJECT("kustomize.toolkit.fluxcd.io/v1", "Kustomization",                                      \
           "'metadata':{'generation':2" metadata_ "}," members_)
#define REQUESTED ",'annotations':{'reconcile.fluxcd.io/requestedAt':'T2'}"
#define READY CONDITION("Ready", "True", "ReconciliationSucceeded")

static const struct row flux_rows[] = {
    {FLUX("", "'status':{" SEEN ",'conditions':[" READY "]}"), READINESS_READY, NULL},
    {FLUX("", "'spec':{'suspend':false},'status':{" SEEN ",'conditions':[" READY "]}"),
     READINESS_READY, NULL},
    {FLUX("", "'spec':{'suspend':true},'status':{" SEEN ",'conditions':[" READY "]}"),
     READINESS_FAILED, "the object is suspended, so Flux does not reconcile it"},
    {FLUX("", "'status':{'observedGeneration':1,'conditions':[" READY "]}"), READINESS_WAITING,
     NOT_SEEN},
    {FLUX("", "'status':{'observedGeneration':-1}"), READINESS_WAITING, NOT_SEEN},
    {FLUX("", "'status':{'conditions':[" READY "]}"), READINESS_WAITING,
     "its controller has not seen it yet"},
    {FLUX("", "'spec':{}"), READINESS_WAITING, "its controller has not seen it yet"},
    {FLUX("", "'status':{" SEEN "}"), READINESS_WAITING, "condition Ready is missing"},
    {FLUX("",
          "'status':{" SEEN ",'conditions':[" CONDITION("Ready", "False", "ArtifactFailed") "]}"),
     READINESS_WAITING, "condition Ready is False (ArtifactFailed)"},
    {FLUX("", "'status':{" SEEN ",'conditions':[" READY
              "," CONDITION("Reconciling", "True", "ProgressingWithRetry") "]}"),
     READINESS_WAITING, "condition Reconciling is True (ProgressingWithRetry)"},
    {FLUX("", "'status':{" SEEN ",'conditions':[" CONDITION("Stalled", "True", "InvalidPath") "]}"),
     READINESS_FAILED, "condition Stalled is True (InvalidPath)"},
    /* Flux sets observedGeneration only when a reconciliation has succeeded. */
    {FLUX("", "'spec':{'suspend':true},'status':{'observedGeneration':1,'conditions':[" READY "]}"),
     READINESS_FAILED, "the object is suspended, so Flux does not reconcile it"},
    {FLUX("", "'status':{'observedGeneration':-1,'conditions':[{'type':'Ready','status':'False',"
              "'reason':'BuildFailed','observedGeneration':2},"
              "" CONDITION("Reconciling", "True", "ProgressingWithRetry") "]}"),
     READINESS_WAITING, "condition Ready is False (BuildFailed)"},
    {FLUX("", "'status':{'observedGeneration':1,'conditions':[{'type':'Ready','status':'False',"
              "'reason':'BuildFailed','observedGeneration':1}]}"),
     READINESS_WAITING, NOT_SEEN},
    {FLUX("",
          "'status':{" SEEN ",'conditions':[" CONDITION(
              "Ready", "False", "InvalidPath") ","
                                               "" CONDITION("Stalled", "True", "InvalidPath") "]}"),
     READINESS_FAILED, "condition Stalled is True (InvalidPath)"},
    {FLUX("", "'status':{'observedGeneration':1,'conditions':[{'type':'Stalled','status':'True',"
              "'reason':'AccessDenied','observedGeneration':2}]}"),
     READINESS_FAILED, "condition Stalled is True (AccessDenied)"},
    {FLUX("", "'status':{'observedGeneration':1,'conditions':[{'type':'Stalled','status':'True',"
              "'reason':'AccessDenied','observedGeneration':1}]}"),
     READINESS_WAITING, NOT_SEEN},
    {FLUX(REQUESTED, "'status':{" SEEN ",'lastHandledReconcileAt':'T1','conditions':["
                     "" CONDITION("Stalled", "True", "AccessDenied") "]}"),
     READINESS_WAITING, "the requested reconciliation has not ended yet"},
    /* The request of this job. */
    {FLUX(REQUESTED, "'status':{" SEEN ",'lastHandledReconcileAt':'T2','conditions':[" READY "]}"),
     READINESS_READY, NULL},
    {FLUX(REQUESTED, "'status':{" SEEN ",'lastHandledReconcileAt':'T1','conditions':[" READY "]}"),
     READINESS_WAITING, "the requested reconciliation has not ended yet"},
    {FLUX(REQUESTED, "'status':{" SEEN ",'conditions':[" READY "]}"), READINESS_WAITING,
     "the requested reconciliation has not ended yet"},
    {FLUX(",'annotations':{'reconcile.fluxcd.io/requestedAt':''}",
          "'status':{" SEEN ",'conditions':[" READY "]}"),
     READINESS_READY, NULL},
    /* A condition of an earlier generation. */
    {FLUX("", "'status':{" SEEN ",'conditions':[{'type':'Ready','status':'True',"
              "'observedGeneration':1}]}"),
     READINESS_WAITING, "condition Ready is older than the last change"},
    {FLUX("", "'status':{" SEEN ",'conditions':[{'type':'Ready','status':'True',"
              "'observedGeneration':2}]}"),
     READINESS_READY, NULL},
    {FLUX("", "'status':{" SEEN ",'conditions':[" READY "," CONDITION("Healthy", "True", "X") "]}"),
     READINESS_READY, NULL},
    {FLUX("", "'status':{" SEEN ",'conditions':[" READY
              "," CONDITION("Healthy", "Unknown", "Progressing") "]}"),
     READINESS_WAITING, "condition Healthy is Unknown (Progressing)"},
    /* Other kinds of Flux. */
    {OBJECT("source.toolkit.fluxcd.io/v1", "GitRepository", "'spec':{}"), READINESS_WAITING,
     "its controller has not seen it yet"},
    {OBJECT("helm.toolkit.fluxcd.io/v2", "HelmRelease",
            "'status':{'observedGeneration':1,'conditions':[" READY "]}"),
     READINESS_READY, NULL},
    {OBJECT("source.toolkit.fluxcd.io/v1", "HelmRepository", "'spec':{'type':'default'}"),
     READINESS_WAITING, "its controller has not seen it yet"},
    /* No controller reconciles these. */
    {OBJECT("source.toolkit.fluxcd.io/v1", "HelmRepository", "'spec':{'type':'oci'}"),
     READINESS_READY, NULL},
    {OBJECT("notification.toolkit.fluxcd.io/v1beta3", "Alert", "'spec':{}"), READINESS_READY, NULL},
    {OBJECT("notification.toolkit.fluxcd.io/v1beta3", "Provider", "'spec':{}"), READINESS_READY,
     NULL},
    {OBJECT("notification.toolkit.fluxcd.io/v1", "Receiver", "'spec':{}"), READINESS_WAITING,
     "its controller has not seen it yet"},
    /* Not of Flux. */
    {OBJECT("toolkit.fluxcd.io/v1", "X", "'spec':{'suspend':true}"), READINESS_READY, NULL},
    {OBJECT("toolkit.fluxcd.io.e.com/v1", "X", "'spec':{'suspend':true}"), READINESS_READY, NULL},
};

static void flux_objects_are_ready_when_they_did_what_was_requested(void **state)
{
    (void)state;
    check_rows(flux_rows, array_length(flux_rows), READINESS_STRICT);
}

static void a_flux_object_exists_by_the_default_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_length(flux_rows); i++) {
        cleanup_json json_t *object = parse(flux_rows[i].object);

        assert_int_equal(readiness_judge(object, READINESS_DEFAULT).readiness, READINESS_READY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strict_rules_are_those_of_kstatus),
        cmocka_unit_test(flux_objects_are_ready_when_they_did_what_was_requested),
        cmocka_unit_test(a_flux_object_exists_by_the_default_rules),
    };

    doc_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
