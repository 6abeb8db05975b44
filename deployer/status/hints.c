/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/status/hints.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/contract.h"

/* Groups, which are the headings of docs/troubleshooting.md. */
#define BEFORE "Before the pod exists"
#define IMAGES "Images"
#define NODES "Nodes"
#define STARTS "Starting containers"
#define ENDS "The end of a run"
#define AFTER "After the run"

#define PULL "ErrImagePull|ImagePullBackOff"
#define START "StartError|ContainerCannotRun|RunContainerError"
#define NEW_JOB "then start a new job"
#define VALIDATE "run 'longshore validate' on the item"
#define PULL_CREDENTIALS                                                                           \
    "add a pull Secret to registryPullSecrets of the item or of its Context, or check its content"
#define NODE_NETWORK "check name resolution, proxy and firewall of the node, docs/networks.md"

/* More specific rows come first. */
static const struct hint hints[] = {
    {BEFORE, NULL, HINT_NOT_PICKED_UP, NULL,
     "no deployer has begun the job: none is running, none serves the type of the item, or its "
     "targetSelector does not match the Target",
     "check the deployer's pods and log, spec.type, and the labels of the Target"},
    {BEFORE, NULL, "PickupTimeout", NULL,
     "Landscaper gave up because no deployer began the job within five minutes",
     "check the deployer's pods and log, spec.type, and the labels of the Target; " NEW_JOB},
    {BEFORE, NULL, "InterruptOperation", NULL, "the job was interrupted on request",
     "start a new job if that was not intended"},
    {BEFORE, NULL, "NoTargetFound", NULL,
     "the Target of the item does not exist in the namespace of the item",
     "create the Target or correct spec.target.name; " NEW_JOB},
    {BEFORE, NULL, "ResolveTarget", NULL,
     "the Target or its Secret cannot be read, or the Secret has no such key",
     "create the Secret with the key that spec.secretRef of the Target names; it is retried"},
    {BEFORE, NULL, "ValidateTarget", NULL,
     "the content of the Target is not a kubeconfig, or its kubeconfig refers to files, programs "
     "or other users",
     "use certificate data or a token; 'longshore validate' on the Target shows the problem"},
    {BEFORE, NULL, "GetLandscaperContext", NULL, "the Context of the item does not exist",
     "create it, an empty one is enough, or correct spec.context; it is retried"},
    {BEFORE, NULL, "ProviderConfigurationMissing", NULL, "the item has no spec.config",
     "add the provider configuration; " NEW_JOB},
    {BEFORE, NULL, "DecodeProviderConfiguration", NULL, "a field of spec.config has the wrong type",
     VALIDATE ", correct it; " NEW_JOB},
    {BEFORE, NULL, "ValidateProviderConfiguration", NULL,
     "a field of spec.config has an invalid value", VALIDATE ", correct it; " NEW_JOB},
    {BEFORE, NULL, "ValidateDeployItem", NULL, "a field of the item's spec has an invalid value",
     VALIDATE ", correct it; " NEW_JOB},
    {BEFORE, NULL, "ItemTooLarge", NULL,
     "the item is so large that its status does not fit beside it",
     "move import values or scripts out of the item, for example into the image"},
    {BEFORE, NULL, "ParseAndSyncSecrets", NULL,
     "a registry pull Secret does not exist, cannot be read or has no usable content",
     "create it in the namespace that the item or the Context names; it is retried"},
    {BEFORE, NULL, "SyncOCMConfiguration", NULL,
     "the ConfigMap that ocmConfig of the Context names cannot be read",
     "create it with the key .ocmconfig; it is retried"},
    {BEFORE, NULL, "EnsurePodRBAC", "belongs to",
     "another deployer or item uses the same names in the host namespace",
     "give each deployer a namespace of its own, docs/operating.md"},
    {BEFORE, NULL, "EnsurePodRBAC", NULL,
     "ServiceAccount, Role or RoleBinding of the run could not be created",
     "check the deployer's permissions with 'longshore controller --check'"},
    {BEFORE, NULL, "CreatePod", "violates PodSecurity",
     "the host namespace enforces a Pod Security Standard that the pod does not meet",
     "look for admission webhooks that change the pod; 'longshore render' shows what we create"},
    {BEFORE, NULL, "CreatePod", "exceeded quota",
     "the ResourceQuota of the host namespace is used up",
     "raise the quota or lower the resources of the item; it is retried"},
    {BEFORE, NULL, "CreatePod", NULL, "the API server of the host cluster did not accept the pod",
     "the message has its answer; check quotas, admission webhooks and permissions"},
    {BEFORE, NULL, "ListState", NULL, "the state Secrets of the item cannot be read",
     "check the deployer's permissions with 'longshore controller --check'"},
    {BEFORE, NULL, REASON_PREVIOUS_RUNS, NULL,
     "the pod of an earlier job has not ended; two jobs of an item never run at the same time",
     "wait: it is stopped after its grace period; main should end on SIGTERM"},

    {IMAGES, NULL, "InvalidImageName|ErrInvalidImageName", NULL, "the image reference is malformed",
     "correct spec.config.image; " NEW_JOB},
    {IMAGES, NULL, "ErrImageNeverPull", NULL,
     "imagePullPolicy is Never and the node does not have the image",
     "load the image onto the node or use IfNotPresent; " NEW_JOB},
    {IMAGES, NULL, "SignatureValidationFailed", NULL,
     "the node's policy does not accept the signature",
     "sign the image or change the policy of the node; " NEW_JOB},
    {IMAGES, NULL, "RegistryUnavailable", NULL, "the registry does not answer", NODE_NETWORK},
    {IMAGES, NULL, PULL, "not found", "the registry does not have this repository or tag",
     "correct spec.config.image or push the image"},
    {IMAGES, NULL, PULL, "unauthorized",
     "the registry requires other credentials, or has no such repository", PULL_CREDENTIALS},
    {IMAGES, NULL, PULL, "denied",
     "the registry requires other credentials, or has no such repository", PULL_CREDENTIALS},
    {IMAGES, NULL, PULL, "x509", "the node does not trust the certificate of the registry",
     "add the certificate authority to the container runtime of the nodes, docs/networks.md"},
    {IMAGES, NULL, PULL, "no match for platform",
     "the image has no variant for the architecture of the node",
     "build the image for it, or choose other nodes with nodeSelector kubernetes.io/arch"},
    {IMAGES, NULL, PULL, NULL, "the node cannot pull the image", NODE_NETWORK},
    {IMAGES, NULL, "ImageInspectError", NULL, "the image on the node is damaged",
     "remove it from the node, so that it is pulled again"},

    {NODES, NULL, "Unschedulable", "Insufficient",
     "no node has enough free resources for the requests of the pod",
     "lower spec.config.resources.requests or add nodes; it is retried until the timeout"},
    {NODES, NULL, "Unschedulable", "taint",
     "all suitable nodes have taints that the pod does not tolerate",
     "add spec.config.tolerations, or pod.tolerations in the Configuration"},
    {NODES, NULL, "Unschedulable", "selector", "no node has the labels of nodeSelector",
     "correct spec.config.nodeSelector, or pod.nodeSelector in the Configuration"},
    {NODES, NULL, "Unschedulable", NULL, "no node accepts the pod",
     "the message names the reasons per node; it is retried until the timeout"},

    {STARTS, NULL, "CreateContainerConfigError", NULL,
     "something that the container needs, such as a Secret, does not exist",
     "see the message; objects of a run must not be deleted while it runs"},
    {STARTS, NULL, START, "executable file not found",
     "the image does not contain the program of command or interpreter",
     "correct spec.config.command or interpreter, or use an image that contains it"},
    {STARTS, NULL, START, "no such file or directory",
     "the image does not contain the program, or the interpreter of its #! line",
     "correct spec.config.command or interpreter, or use an image that contains it"},
    {STARTS, NULL, START, "exec format error",
     "the program is built for another architecture than that of the node",
     "build the image for it, or choose other nodes with nodeSelector kubernetes.io/arch"},
    {STARTS, NULL, START, "permission denied", "user 1000 may not execute the program",
     "make it executable for all users in the image"},
    {STARTS, NULL, START, NULL, "the container runtime could not start the container",
     "see the message; correct spec.config.command and args"},
    {STARTS, NULL, "CreateContainerError", NULL,
     "the container runtime could not create the container",
     "see the message and the log of the kubelet"},
    {STARTS, NULL, "CrashLoopBackOff", NULL, "an injected sidecar container fails again and again",
     "look at its log, and at the webhook that injects it"},

    {ENDS, NULL, "OOMKilled", NULL, "the container used more memory than its limit",
     "raise spec.config.resources.limits.memory; for init and wait, resources in the "
     "Configuration"},
    {ENDS, NULL, "ProgressingTimeout", "container main was running",
     "main did not finish within spec.timeout (default 10m)",
     "raise spec.timeout, or find out what main waits for: 'longshore logs'"},
    {ENDS, NULL, "ProgressingTimeout", NULL,
     "the job did not finish within spec.timeout (default 10m)",
     "the message says what it was waiting for; solve that, or raise spec.timeout"},
    {ENDS, NULL, "DeadlineExceeded", NULL, "the pod ran longer than the timeout of the item",
     "raise spec.timeout, or find out what main waits for: 'longshore logs'"},
    {ENDS, NULL, "Evicted", "emptyDir", "the shared volume is larger than its limit",
     "write less to it, or raise pod.sharedVolumeSizeLimit in the Configuration"},
    {ENDS, NULL, "Evicted", NULL, "the node ran out of memory or disk and removed the pod",
     "set resources.requests to what main needs; " NEW_JOB},
    {ENDS, NULL, "EvictionByEvictionAPI", NULL, "the node was drained while the item ran",
     "start a new job; state is kept, so main can continue where it was"},
    {ENDS, NULL, "PreemptionByScheduler", NULL,
     "a pod of higher priority took the place of the pod",
     "start a new job; pod.priorityClassName in the Configuration sets the priority"},
    {ENDS, NULL, "DeletionByTaintManager", NULL,
     "the node was tainted, or did not answer for too long", "start a new job; look at the node"},
    {ENDS, NULL, "DeletionByPodGC", NULL, "the node of the pod no longer exists",
     "start a new job"},
    {ENDS, NULL, "TerminationByKubelet", NULL, "the node shut down or ran out of resources",
     "start a new job; look at the node"},
    {ENDS, NULL, "PodLost", NULL,
     "the pod was deleted, or its node was lost, before there was a result",
     "start a new job; find out who deletes pods in the host namespace"},
    {ENDS, "RunInitContainer", NULL, NULL, "init could not write the inputs of the run",
     "the message names the step and what to do"},
    {ENDS, "RunWaitContainer", NULL, "exports: not stored",
     "main succeeded, but its exports are invalid or could not be saved",
     "write one JSON or YAML object of at most 1 MiB to $EXPORTS_PATH"},
    {ENDS, "RunWaitContainer", NULL, "state: not stored",
     "the state could not be saved, so the next run would not find it",
     "see the message; state is limited to 4 GiB of files, directories and symlinks"},
    {ENDS, "RunWaitContainer", NULL, NULL, "state or exports could not be saved",
     "see the message"},
    {ENDS, "RunMainContainer", NULL, "exit code 127", "a program that main calls does not exist",
     "use an image that contains it; 'longshore run --from-cluster' repeats the run locally"},
    {ENDS, "RunMainContainer", NULL, "exit code 126",
     "a program that main calls cannot be executed",
     "check its permissions and architecture in the image"},
    {ENDS, "RunMainContainer", NULL, "signal 9",
     "main was killed, by the node or by its own container",
     "check the memory of the node; 'longshore logs' shows the last output"},
    {ENDS, "RunMainContainer", NULL, NULL, "the program of the item failed",
     "see its log; 'longshore run --from-cluster' repeats the run locally, with the same inputs"},
    {ENDS, "RunPod", NULL, NULL, "the pod as a whole, or a container injected into it, failed",
     "see the message; check the admission webhooks of the host cluster"},

    {AFTER, NULL, "SyncExport", NULL, "the exports could not be copied to Landscaper's cluster",
     "check the deployer's permissions with 'longshore controller --check'; it is retried"},
    {AFTER, NULL, "AddFinalizer", NULL, "the finalizer of the item could not be written",
     "check the deployer's permissions with 'longshore controller --check'; it is retried"},
    {AFTER, NULL, "LookForRuns", NULL,
     "earlier runs of the item cannot be looked up for its deletion",
     "check the deployer's permissions with 'longshore controller --check'; it is retried"},
    {AFTER, "Delete", NULL, NULL, "objects of the item could not be removed from the host cluster",
     "check the deployer's permissions with 'longshore controller --check'; it is retried"},
};

const struct hint *hint_at(size_t index)
{
    return index < array_length(hints) ? &hints[index] : NULL;
}

/* Whether given is one of the words of wanted, which are separated by '|'. */
static bool is_wanted(const char *wanted, const char *given)
{
    size_t length = given ? strlen(given) : 0;

    while (wanted) {
        const char *bar = strchrnul(wanted, '|');

        if ((size_t)(bar - wanted) == length && length > 0 && strncmp(wanted, given, length) == 0)
            return true;
        wanted = *bar ? bar + 1 : NULL;
    }
    return false;
}

const struct hint *hint_find(const char *operation, const char *reason, const char *message)
{
    for (size_t i = 0; i < array_length(hints); i++) {
        const struct hint *hint = &hints[i];

        if ((!hint->operation || is_wanted(hint->operation, operation)) &&
            (!hint->reason || is_wanted(hint->reason, reason)) &&
            (!hint->text || strcasestr(message ? message : "", hint->text)))
            return hint;
    }
    return NULL;
}
