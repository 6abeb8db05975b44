/* SPDX-License-Identifier: Apache-2.0 */
/* The wire contract: every environment variable, path, label, annotation, object name and literal
 * that Landscaper, the Go container deployer or the user's image can see. They are defined here and
 * nowhere else (make lint checks). What only Longshore uses is at the end. */
#pragma once

/* API groups, kinds, identity. */
#define LANDSCAPER_GROUP "landscaper.gardener.cloud"
#define LANDSCAPER_VERSION "v1alpha1"
#define LANDSCAPER_API_VERSION LANDSCAPER_GROUP "/" LANDSCAPER_VERSION
#define KIND_DEPLOY_ITEM "DeployItem"
#define KIND_TARGET "Target"
#define KIND_INSTALLATION "Installation"
#define KIND_EXECUTION "Execution"
#define KIND_CONTEXT "Context"
#define KIND_SYNC_OBJECT "SyncObject"
#define KIND_BLUEPRINT "Blueprint"
#define KIND_INSTALLATION "Installation"
#define KIND_ENVIRONMENT "Environment"
#define KIND_DEPLOYER_REGISTRATION "DeployerRegistration"
#define RESOURCE_DEPLOY_ITEMS "deployitems"
#define RESOURCE_TARGETS "targets"
#define RESOURCE_INSTALLATIONS "installations"
#define RESOURCE_EXECUTIONS "executions"
#define RESOURCE_CONTEXTS "contexts"
#define RESOURCE_SYNC_OBJECTS "syncobjects"
#define RESOURCE_INSTALLATIONS "installations"
#define RESOURCE_ENVIRONMENTS "environments"
#define RESOURCE_DEPLOYER_REGISTRATIONS "deployerregistrations"

#define DEPLOYER_GROUP "container.deployer.landscaper.gardener.cloud"
#define DEPLOYER_API_VERSION DEPLOYER_GROUP "/v1alpha1"
#define DEPLOYER_NAME DEPLOYER_GROUP
#define KIND_PROVIDER_CONFIGURATION "ProviderConfiguration"
#define KIND_PROVIDER_STATUS "ProviderStatus"
#define KIND_CONFIGURATION "Configuration"
#define DEPLOY_ITEM_TYPE_CONTAINER "landscaper.gardener.cloud/container"
#define LOCK_PREFIX "container"
#define CONTEXT_DEFAULT "default"

/* Manifest items: API group, type, and the label on every applied object. */
#define MANIFEST_GROUP "manifest.deployer.landscaper.gardener.cloud"
#define MANIFEST_API_VERSION MANIFEST_GROUP "/v1alpha2"
#define MANIFEST_API_VERSION_OLD MANIFEST_GROUP "/v1alpha1"
#define MANIFEST_DEPLOYER_NAME MANIFEST_GROUP
#define DEPLOY_ITEM_TYPE_MANIFEST "landscaper.gardener.cloud/kubernetes-manifest"
#define LABEL_MANIFEST_ITEM MANIFEST_GROUP "/deployitem"
#define LOCK_PREFIX_MANIFEST "manifest"
#define MANIFEST_GO_FIELD_MANAGER                                                                  \
    "manifest-deployer-controller" /* of writes of the Go deployer                                 \
                                    */

/* Helm items: API group, type, and the label on every applied object, beside the one above. */
#define HELM_GROUP "helm.deployer.landscaper.gardener.cloud"
#define HELM_API_VERSION HELM_GROUP "/v1alpha1"
#define HELM_DEPLOYER_NAME HELM_GROUP
#define DEPLOY_ITEM_TYPE_HELM "landscaper.gardener.cloud/helm"
#define LABEL_HELM_ITEM HELM_GROUP "/deployitem"

/* Environments and DeployerRegistrations, as in Landscaper v0.98. */
#define DEPLOYERS_GROUP "deployers." LANDSCAPER_GROUP
#define FINALIZER_MANAGEMENT "finalizer.deployermanagement." LANDSCAPER_GROUP
#define FINALIZER_AGENT "finalizer.agent." LANDSCAPER_GROUP
#define LABEL_ENVIRONMENT DEPLOYERS_GROUP "/environment"
#define LABEL_REGISTRATION DEPLOYERS_GROUP "/deployer-registration"
#define LABEL_EXECUTION "execution." LANDSCAPER_GROUP "/managed-by"
#define ANNOTATION_ENVIRONMENT LANDSCAPER_GROUP "/environment"
#define ANNOTATION_DEPLOYER_ONLY LANDSCAPER_GROUP "/deployer-only"
#define TARGET_TYPE_KUBERNETES LANDSCAPER_GROUP "/kubernetes-cluster"
#define REGISTRATION_HELM "helm" /* leaves items of deployers to the agent */
#define DEPLOYERS_ROLE "landscaper:deployer"
#define DEPLOYERS_NAMESPACE "ls-system"
#define IMPORT_CLUSTER "cluster"
#define IMPORT_LANDSCAPER_CLUSTER "landscaperCluster"
#define IMPORT_RELEASE_NAME "releaseName"
#define IMPORT_RELEASE_NAMESPACE "releaseNamespace"
#define IMPORT_IDENTITY "identity"
#define IMPORT_TARGET_SELECTORS "targetSelectors"
#define IMPORT_VALUES "values"
enum { INSTALLATION_NAME_MAX = 58 }; /* Landscaper adds a prefix and uses the result as a label */

/* Environment of the three containers, part of the contract with the user's image. */
#define ENV_IMPORTS_PATH "IMPORTS_PATH"
#define ENV_EXPORTS_PATH "EXPORTS_PATH"
#define ENV_COMPONENT_DESCRIPTOR_PATH "COMPONENT_DESCRIPTOR_PATH"
#define ENV_TARGET_PATH "TARGET_PATH"
#define ENV_CONTENT_PATH "CONTENT_PATH"
#define ENV_STATE_PATH "STATE_PATH"
#define ENV_POD_NAME "POD_NAME"
#define ENV_POD_NAMESPACE "POD_NAMESPACE"
#define ENV_CONFIGURATION_PATH "CONFIGURATION_PATH"
#define ENV_DEPLOY_ITEM_NAME "DEPLOY_ITEM_NAME"
#define ENV_DEPLOY_ITEM_NAMESPACE "DEPLOY_ITEM_NAMESPACE"
#define ENV_REGISTRY_SECRETS_DIR "REGISTRY_SECRETS_DIR"
#define ENV_OCM_CONFIGURATION_PATH "OCM_CONFIGURATION_PATH"
#define ENV_OPERATION "OPERATION"
/* Older names, which are still set and read. */
#define ENV_EXPORT_PATH_OLD "EXPORT_PATH"
#define ENV_STATE_OLD "STATE"

#define OPERATION_RECONCILE "RECONCILE"
#define OPERATION_DELETE "DELETE"

/* Paths in the pod. */
#define PATH_BASE "/data/ls"
#define PATH_SHARED PATH_BASE "/shared"
#define PATH_IMPORTS PATH_SHARED "/imports/import.json"
#define PATH_EXPORTS PATH_SHARED "/exports/values"
#define PATH_COMPONENT_DESCRIPTOR PATH_SHARED "/component_descriptor.json"
#define PATH_TARGET PATH_SHARED "/targets/target.json"
#define PATH_CONTENT PATH_SHARED "/content"
#define PATH_STATE PATH_SHARED "/state"
#define PATH_CONFIGURATION_DIR PATH_BASE "/internal"
#define PATH_CONFIGURATION PATH_CONFIGURATION_DIR "/configuration.json"
#define PATH_REGISTRY_SECRETS PATH_BASE "/registry_secrets"
#define PATH_OCM_DIR PATH_BASE "/ocm"
#define PATH_OCM_CONFIGURATION PATH_OCM_DIR "/.ocmconfig"
#define PATH_CA_DIR PATH_BASE "/ca"
#define PATH_TARGET_SOURCE_DIR PATH_BASE "/targets"
#define PATH_TARGET_SOURCE PATH_TARGET_SOURCE_DIR "/target.json"
#define PATH_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define PATH_TERMINATION_LOG "/dev/termination-log"

#define FILE_CONFIGURATION "configuration.json"
#define FILE_TARGET "target.json"
#define FILE_OCM_CONFIGURATION ".ocmconfig"
#define FILE_CA_BUNDLE "ca-bundle.crt"
#define FILE_DOCKER_CONFIG_JSON ".dockerconfigjson"
#define FILE_DOCKER_CFG ".dockercfg"
#define FILE_OCM_CREDENTIALS ".ocmcredentialconfig"

/* User and groups of the containers. */
enum { POD_UID_NUMBER = 1000, POD_GID_NUMBER = 3000, POD_FSGROUP_NUMBER = 2000 };

/* Containers and volumes. */
#define CONTAINER_INIT "init"
#define CONTAINER_MAIN "main"
#define CONTAINER_WAIT "wait"
#define VOLUME_SHARED "shared-volume"
#define VOLUME_CONFIGURATION "configuration"
#define VOLUME_OCM_CONFIGURATION "ocm-configuration"
#define VOLUME_CA "ca"
#define VOLUME_TARGET "target"
#define VOLUME_SERVICE_ACCOUNT_INIT "serviceaccount-init"
#define VOLUME_SERVICE_ACCOUNT_WAIT "serviceaccount-wait"

/* Finalizers, labels, annotations of the container deployer. */
#define FINALIZER_DEPLOY_ITEM "finalizer.landscaper.gardener.cloud"
#define FINALIZER_POD DEPLOYER_GROUP "/finalizer"
#define LABEL_DEPLOYER_ID DEPLOYER_GROUP "/deployer-id"
#define LABEL_NAME DEPLOYER_GROUP "/name"
#define LABEL_TYPE DEPLOYER_GROUP "/type"
#define LABEL_TYPE_CONFIGURATION "configuration"
#define LABEL_TYPE_PULL_SECRET "registry-pull-secret"
#define LABEL_TYPE_STATE "state"
#define LABEL_ITEM_NAME "deployitem." DEPLOYER_GROUP "/name"
#define LABEL_ITEM_NAMESPACE "deployitem." DEPLOYER_GROUP "/namespace"
#define LABEL_ITEM_GENERATION "deployitem." DEPLOYER_GROUP "/generation"
#define ANNOTATION_STATE_UUID DEPLOYER_GROUP "/uuid"
#define ANNOTATION_STATE_NUMBER DEPLOYER_GROUP "/num"
#define ANNOTATION_FORCE_CLEANUP DEPLOYER_GROUP "/force-cleanup"

/* Annotations of Landscaper. */
#define ANNOTATION_OPERATION LANDSCAPER_GROUP "/operation"
#define OPERATION_TEST_RECONCILE "test-reconcile"
#define OPERATION_ANNOTATION_RECONCILE "reconcile"
#define OPERATION_ANNOTATION_INTERRUPT "interrupt"
#define ANNOTATION_DEPLOYER_TYPE LANDSCAPER_GROUP "/deployer-type"
#define ANNOTATION_DEPLOYER_TARGET LANDSCAPER_GROUP "/deployer-target-name"
#define DEPLOYER_TARGET_NONE ".noTargetName"
#define ANNOTATION_DELETE_WITHOUT_UNINSTALL LANDSCAPER_GROUP "/delete-without-uninstall"
#define LABEL_NESTED_DESCRIPTOR LANDSCAPER_GROUP "/component-descriptor"

/* Secrets. */
#define SECRET_KEY_CONFIG "config"
#define SECRET_TYPE_OPAQUE "Opaque"
#define SECRET_TYPE_DOCKER_CONFIG "kubernetes.io/dockerconfigjson"
#define SUFFIX_EXPORT "-export"
#define PREFIX_STATE "state-"
enum { SECRET_MAX_BYTES = 1048576, STATE_CHUNK_BYTES = 1048576 };

/* Status of a DeployItem. */
#define PHASE_INIT "Init"
#define PHASE_PROGRESSING "Progressing"
#define PHASE_SUCCEEDED "Succeeded"
#define PHASE_FAILED "Failed"
#define PHASE_INIT_DELETE "InitDelete"
#define PHASE_DELETING "Deleting"
#define PHASE_DELETE_FAILED "DeleteFailed"
#define CONDITION_INIT "InitContainer"
#define CONDITION_WAIT "WaitContainer"
#define CONDITION_APPLIED "Applied" /* of manifest items */
#define CONDITION_READY "Ready"
/* Of manifest items that are watched after the job. */
#define CONDITION_EXPORTS_UP_TO_DATE "ExportsUpToDate"
#define CONDITION_STILL_READY "StillReady"
#define CODE_CONFIGURATION_PROBLEM "ERR_CONFIGURATION_PROBLEM"
#define CODE_TIMEOUT "ERR_TIMEOUT"
/* lastError.reason of a job that waits for the execution of an earlier job to end. */
#define REASON_PREVIOUS_RUNS "PreviousPodRuns"
#define CODE_UNAUTHORIZED "ERR_UNAUTHORIZED"

/* Environment of the controller. */
#define ENV_MY_POD_NAME "MY_POD_NAME"
#define ENV_MY_POD_NAMESPACE "MY_POD_NAMESPACE"
#define ENV_LS_HOST_CLIENT_QPS "LS_HOST_CLIENT_QPS"
#define ENV_LS_HOST_CLIENT_BURST "LS_HOST_CLIENT_BURST"
#define ENV_LS_RESOURCE_CLIENT_QPS "LS_RESOURCE_CLIENT_QPS"
#define ENV_LS_RESOURCE_CLIENT_BURST "LS_RESOURCE_CLIENT_BURST"
#define MY_POD_NAME_DEFAULT "nopodname"
#define MY_POD_NAMESPACE_DEFAULT "nopodnamespace"

/* ---- Longshore only; the Go deployer ignores these. ---- */

#define LONGSHORE_PREFIX "longshore." DEPLOYER_GROUP
/* On every object of an item: a hash of namespace and name, the uid of the item, and its full name
 * and namespace (label values are limited to 63 characters). */
#define LABEL_ITEM_HASH LONGSHORE_PREFIX "/item"
#define ANNOTATION_ITEM_UID LONGSHORE_PREFIX "/item-uid"
#define ANNOTATION_ITEM_NAME LONGSHORE_PREFIX "/item-name"
#define ANNOTATION_ITEM_NAMESPACE LONGSHORE_PREFIX "/item-namespace"
/* On objects of a deployer without an identity: a hash that identifies its Landscaper. */
#define LABEL_LANDSCAPER LONGSHORE_PREFIX "/landscaper"
/* On pods, exports and state: the job and the pod that created them. */
#define ANNOTATION_JOB LONGSHORE_PREFIX "/job"
#define ANNOTATION_POD_UID LONGSHORE_PREFIX "/pod-uid"
#define ANNOTATION_OPERATION_RUN LONGSHORE_PREFIX "/operation"
/* On state chunks: number, hash and size of all chunks of the generation, to detect an incomplete
 * one. The hash is that of the concatenated chunks. */
#define ANNOTATION_STATE_CHUNKS LONGSHORE_PREFIX "/chunks"
#define ANNOTATION_STATE_SHA256 LONGSHORE_PREFIX "/sha256"
#define ANNOTATION_STATE_SEQUENCE LONGSHORE_PREFIX "/sequence"
#define ANNOTATION_STATE_BYTES LONGSHORE_PREFIX "/bytes"
/* Selects the objects that one deletecollection request removes when the run ends. */
#define LABEL_ROLE LONGSHORE_PREFIX "/role"
#define LABEL_ROLE_RUN "run" /* inputs, pull secrets, host export */

/* Set for init and wait by our controller and by `longshore run`, but not by the Go controller. */
#define ENV_JOB_ID "LONGSHORE_JOB_ID"
#define ENV_POD_UID "LONGSHORE_POD_UID"
/* Sequence number and sha256 of the last complete generation of the state; empty: none. */
#define ENV_STATE_SEQUENCE "LONGSHORE_STATE_SEQUENCE"
#define ENV_STATE_SHA256 "LONGSHORE_STATE_SHA256"
/* The sequence number of the generation that this pod saves; a snapshot that it saves before has
 * the number before it. It must be higher than that of every older pod of the item, even one that
 * has not saved yet, so that a delayed pod cannot replace the state of a newer one. Default:
 * max(last sequence + 1, creation time of the pod in Unix seconds), and no snapshot. */
#define ENV_STATE_NEXT_SEQUENCE "LONGSHORE_STATE_NEXT_SEQUENCE"
/* Directory with the saved state: one subdirectory for each chunk Secret, or for each generation in
 * a local run. */
#define ENV_STATE_SOURCE_DIR "LONGSHORE_STATE_SOURCE_DIR"
#define PATH_STATE_SOURCE PATH_BASE "/state_source"
#define FILE_STATE_METADATA "metadata.json" /* next to SECRET_KEY_CONFIG of a chunk */
/* Prefix of the names of new state Secrets. */
#define ENV_STATE_NAME_PREFIX "LONGSHORE_STATE_NAME_PREFIX"
/* Path of the mounted target for init; default PATH_TARGET_SOURCE. Used by local runs. */
#define ENV_TARGET_SOURCE "LONGSHORE_TARGET_SOURCE"
/* wait in a local run: the directory to save to instead of Secrets, and the descriptor from which
 * the exit of main is read as one JSON line. */
#define ENV_SINK_DIR "LONGSHORE_SINK_DIR"
#define ENV_MAIN_END_FD "LONGSHORE_MAIN_END_FD"
/* init in a local run: the message of its log line about a failed request, with the fields error
 * and delayMs. The runner shows it. */
#define LOG_RETRYING_REGISTRY "retrying registry request"
/* wait: all the seconds between SIGTERM and SIGKILL; default: the grace period of the pod object,
 * else MAIN_GRACE_SECONDS_DEFAULT + POD_SAVE_SECONDS. */
#define ENV_GRACE_SECONDS "LONGSHORE_GRACE_SECONDS"
#define ENV_MAIN_GRACE_SECONDS                                                                     \
    "LONGSHORE_MAIN_GRACE_SECONDS" /* how long wait lets main run after SIGTERM; absent: 30 */
enum { MAIN_GRACE_SECONDS_DEFAULT = 30, POD_SAVE_SECONDS = 600 };
/* What wait keeps for saving of the grace period with which the pod is deleted: this part of it,
 * within these limits, and never more than half. The controller adds at least as much to main's
 * grace period when it deletes a pod. */
enum { POD_RESERVE_PART = 5, POD_RESERVE_SECONDS_MIN = 8, POD_RESERVE_SECONDS_MAX = 60 };
/* init: registry options (oci.allowPlainHttp, oci.insecureSkipVerify) and the deadline for retries.
 */
#define ENV_OCI_PLAIN_HTTP "LONGSHORE_OCI_ALLOW_PLAIN_HTTP"
#define ENV_OCI_INSECURE "LONGSHORE_OCI_INSECURE_SKIP_VERIFY"
#define ENV_INIT_DEADLINE "LONGSHORE_INIT_DEADLINE"
#define INIT_DEADLINE_SECONDS 120 /* default */
/* Path of the termination message; default PATH_TERMINATION_LOG. */
#define ENV_TERMINATION_LOG "LONGSHORE_TERMINATION_LOG"

/* Script items: a script instead of an image. */
#define DEPLOY_ITEM_TYPE_SCRIPT "landscaper.gardener.cloud/script"
#define SCRIPT_GROUP "script.deployer.landscaper.gardener.cloud"
#define SCRIPT_API_VERSION SCRIPT_GROUP "/v1alpha1"
#define PATH_SCRIPT_DIR PATH_BASE "/script"
#define FILE_SCRIPT "script"
#define PATH_SCRIPT PATH_SCRIPT_DIR "/" FILE_SCRIPT
#define VOLUME_SCRIPT "script"
/* Helm items: what main, which is helm, finds and writes. */
#define FILE_CHART "chart.tgz"
#define PATH_CHART PATH_SHARED "/" DIR_HELM_CHART "/" FILE_CHART
#define PATH_HELM_HOME PATH_SHARED "/helm"
#define DIR_HELM_RENDERED "rendered" /* below the state */
#define DIR_HELM_CHART "chart"
/* Below the chart: a template that init adds if values are exported. It renders what templates see
 * as base64 of JSON, in the one member of a document. */
#define FILE_HELM_SEEN "templates/longshore-values-for-exports.yaml"
#define MEMBER_HELM_SEEN "seenByTemplates"
/* Beside the source of the chart in the configuration of init: whether that template is wanted; and
 * [{url, ca, header or problem}], the credentials of chart repositories. */
#define CHART_IS_SEEN_WANTED "isValuesTemplateWanted"
#define CHART_AUTHORIZATIONS "authorizations"
#define PATH_HELM_RENDERED PATH_STATE "/" DIR_HELM_RENDERED
#define FILE_HELM_VALUES "values.json"
#define PATH_HELM_VALUES PATH_SCRIPT_DIR "/" FILE_HELM_VALUES
#define FILE_HELM_KUBECONFIG "kubeconfig"
#define PATH_HELM_KUBECONFIG PATH_SCRIPT_DIR "/" FILE_HELM_KUBECONFIG
#define VOLUME_STATE_SOURCE "state-source"
#define VOLUME_REGISTRY_SECRETS "registry-secrets"
#define VOLUME_TMP "tmp"
#define PATH_TMP "/tmp"
/* Name of the export Secret in the host cluster if it is not "NS-N-export"; also on the pod. */
#define ENV_EXPORT_NAME "LONGSHORE_EXPORT_NAME"
#define ANNOTATION_EXPORT_NAME LONGSHORE_PREFIX "/export"
/* On every object of a manifest item: "namespace/name" of the item. The label has only the name,
 * and of a long name a hash. */
#define ANNOTATION_MANIFEST_ITEM "longshore." MANIFEST_GROUP "/item"
/* On a root Installation: "time item-uid change" of the last job that was triggered for it. */
#define ANNOTATION_TRIGGERED_BY "longshore." MANIFEST_GROUP "/triggered-by"

/* On the objects of a pair of Environment and DeployerRegistration: the full names of both. */
#define DEPLOYERS_PREFIX "longshore." DEPLOYERS_GROUP
#define ANNOTATION_PAIR_ENVIRONMENT DEPLOYERS_PREFIX "/environment"
#define ANNOTATION_PAIR_REGISTRATION DEPLOYERS_PREFIX "/registration"
/* On the Target of a pair: when its token was requested, when it expires (RFC 3339), and how often
 * it was renewed. On the Installation: the number of renewals it was triggered for. */
#define ANNOTATION_TOKEN_REQUESTED DEPLOYERS_PREFIX "/token-requested"
#define ANNOTATION_TOKEN_EXPIRES DEPLOYERS_PREFIX "/token-expires"
#define ANNOTATION_TOKEN_RENEWALS DEPLOYERS_PREFIX "/token-renewals"
/* On the Installation: a hash of the jobs of the deployers that it needs, as of the last retry; and
 * the job that was interrupted because it was blocked. */
#define ANNOTATION_PROVIDERS DEPLOYERS_PREFIX "/providers"
#define ANNOTATION_INTERRUPTED DEPLOYERS_PREFIX "/interrupted-job"
/* On an Environment: deployers may be installed there, if acceptance is manual. */
#define ANNOTATION_ACCEPTED DEPLOYERS_PREFIX "/accepted"
/* On an Environment or DeployerRegistration that is being deleted: remove deployers that still
 * serve items. */
#define ANNOTATION_FORCE_REMOVAL DEPLOYERS_PREFIX "/force-removal"

/* On an Environment: the cluster of its agent; by hand: the cluster whose agent may take it over;
 * how deployers get their access to Landscaper's cluster ("agent", else by their Target). */
#define ANNOTATION_CLUSTER_ID DEPLOYERS_PREFIX "/cluster-id"
#define ANNOTATION_MOVE_TO DEPLOYERS_PREFIX "/move-to-cluster"
#define ANNOTATION_ACCESS DEPLOYERS_PREFIX "/access"
#define ACCESS_BY_AGENT "agent"
/* On Secrets of an agent, with ANNOTATION_TOKEN_REQUESTED: for how long the token was granted. */
#define ANNOTATION_TOKEN_LIFETIME DEPLOYERS_PREFIX "/token-lifetime-seconds"
/* On the credential Secret of an agent that has left: the uid of its Environment, or "none". */
#define ANNOTATION_LEFT DEPLOYERS_PREFIX "/left"
#define AGENT_CONFIG_API_VERSION "config." LANDSCAPER_GROUP "/v1alpha1"
#define KIND_AGENT_CONFIGURATION "AgentConfiguration"
#define TARGET_ACCESS_SUFFIX "-target-access" /* Secret of a host Target */
#define TARGET_ACCESS_KEY "kubeconfig"
/* Content of a host Target without a stored kubeconfig: the deployer uses an account of the cluster
 * in which it runs itself. */
#define TARGET_HOST_CONFIG "hostConfig"
#define LANDSCAPER_ACCESS_SUFFIX "-landscaper-access" /* Secret of a deployer, by its agent */
#define LABEL_AGENT_SECRET DEPLOYERS_PREFIX "/secret"
#define AGENT_SECRET_ACCESS "landscaper-access"
/* Where charts of deployers mount that Secret. */
#define PATH_LANDSCAPER_ACCESS "/app/ls/landscaper-cluster-kubeconfig"
/* Conditions of an Environment. */
#define CONDITION_ACCEPTED "Accepted"
#define CONDITION_DEPLOYERS_READY "DeployersReady"
/* On the Leases by which replicas share work: the name of what they share. */
#define LABEL_SHARDS LONGSHORE_PREFIX "/shards"

/* On every object that we create. */
#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define MANAGED_BY "longshore"

/* On pods: whether wait saves a snapshot of the state before the pod is deleted. The pod is created
 * with "on-request" if wait knows this annotation. The controller then sets "requested", and wait
 * writes its progress to the Secret named by ENV_REPORT_NAME. */
#define ANNOTATION_END LONGSHORE_PREFIX "/end"
#define END_ON_REQUEST "on-request"
#define END_REQUESTED "requested"
/* On that Secret, besides the pod that wrote it: "saving", and "saved" when the pod may be deleted;
 * how many chunks the state has, how many of them are stored, and how long the snapshot took. */
#define ENV_REPORT_NAME "LONGSHORE_REPORT_NAME"
#define SUFFIX_REPORT "-report"
#define ANNOTATION_SNAPSHOT LONGSHORE_PREFIX "/snapshot"
#define SNAPSHOT_SAVING "saving"
#define SNAPSHOT_SAVED "saved"
#define ANNOTATION_CHUNKS_STORED LONGSHORE_PREFIX "/chunks-stored"
#define ANNOTATION_MILLISECONDS LONGSHORE_PREFIX "/milliseconds"
