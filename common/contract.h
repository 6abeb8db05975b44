/* SPDX-License-Identifier: Apache-2.0 */
/* The wire contract, once: every environment name, path, label, annotation, object name and literal
 * that Landscaper, the Go container deployer or the user's image can see. No other file spells such
 * a string (make lint checks). What is ours alone stands at the end. */
#pragma once

/* API groups, kinds, identity. */
#define LANDSCAPER_GROUP "landscaper.gardener.cloud"
#define LANDSCAPER_VERSION "v1alpha1"
#define LANDSCAPER_API_VERSION LANDSCAPER_GROUP "/" LANDSCAPER_VERSION
#define KIND_DEPLOY_ITEM "DeployItem"
#define KIND_TARGET "Target"
#define KIND_CONTEXT "Context"
#define KIND_SYNC_OBJECT "SyncObject"
#define KIND_BLUEPRINT "Blueprint"
#define RESOURCE_DEPLOY_ITEMS "deployitems"
#define RESOURCE_TARGETS "targets"
#define RESOURCE_CONTEXTS "contexts"
#define RESOURCE_SYNC_OBJECTS "syncobjects"

#define DEPLOYER_GROUP "container.deployer.landscaper.gardener.cloud"
#define DEPLOYER_API_VERSION DEPLOYER_GROUP "/v1alpha1"
#define DEPLOYER_NAME DEPLOYER_GROUP
#define KIND_PROVIDER_CONFIGURATION "ProviderConfiguration"
#define KIND_PROVIDER_STATUS "ProviderStatus"
#define KIND_CONFIGURATION "Configuration"
#define DEPLOY_ITEM_TYPE_CONTAINER "landscaper.gardener.cloud/container"
#define LOCK_PREFIX "container"
#define CONTEXT_DEFAULT "default"

/* Environment of the three containers (contract with the user's image). */
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
/* The older spellings, still set and still read. */
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
#define PATH_TARGET_SOURCE_DIR PATH_BASE "/targets"
#define PATH_TARGET_SOURCE PATH_TARGET_SOURCE_DIR "/target.json"
#define PATH_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define PATH_TERMINATION_LOG "/dev/termination-log"

#define FILE_CONFIGURATION "configuration.json"
#define FILE_TARGET "target.json"
#define FILE_OCM_CONFIGURATION ".ocmconfig"
#define FILE_DOCKER_CONFIG_JSON ".dockerconfigjson"
#define FILE_DOCKER_CFG ".dockercfg"
#define FILE_OCM_CREDENTIALS ".ocmcredentialconfig"

/* Who the containers are. */
enum { POD_UID_NUMBER = 1000, POD_GID_NUMBER = 3000, POD_FSGROUP_NUMBER = 2000 };
enum { POD_GRACE_SECONDS = 300 };

/* Containers and volumes. */
#define CONTAINER_INIT "init"
#define CONTAINER_MAIN "main"
#define CONTAINER_WAIT "wait"
#define VOLUME_SHARED "shared-volume"
#define VOLUME_CONFIGURATION "configuration"
#define VOLUME_OCM_CONFIGURATION "ocm-configuration"
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
#define LABEL_TYPE_TARGET "target"
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
#define CODE_CONFIGURATION_PROBLEM "ERR_CONFIGURATION_PROBLEM"
#define CODE_INTERNAL_PROBLEM "ERR_INTERNAL_PROBLEM"
#define CODE_TIMEOUT "ERR_TIMEOUT"
#define CODE_UNAUTHORIZED "ERR_UNAUTHORIZED"
#define CODE_CLEANUP "ERR_CLEANUP"
#define CODE_FOR_INFO_ONLY "ERR_FOR_INFO_ONLY"

/* Environment of the controller. */
#define ENV_MY_POD_NAME "MY_POD_NAME"
#define ENV_MY_POD_NAMESPACE "MY_POD_NAMESPACE"
#define ENV_LS_HOST_CLIENT_QPS "LS_HOST_CLIENT_QPS"
#define ENV_LS_HOST_CLIENT_BURST "LS_HOST_CLIENT_BURST"
#define ENV_LS_RESOURCE_CLIENT_QPS "LS_RESOURCE_CLIENT_QPS"
#define ENV_LS_RESOURCE_CLIENT_BURST "LS_RESOURCE_CLIENT_BURST"
#define MY_POD_NAME_DEFAULT "nopodname"
#define MY_POD_NAMESPACE_DEFAULT "nopodnamespace"

/* ---- Ours: what the Go deployer does not know and ignores. ---- */

#define LONGSHORE_PREFIX "longshore." DEPLOYER_GROUP
/* On every object of an item: the hash of namespace and name, the item's uid, the full names (label
 * values are cut at 63 characters). */
#define LABEL_ITEM_HASH LONGSHORE_PREFIX "/item"
#define ANNOTATION_ITEM_UID LONGSHORE_PREFIX "/item-uid"
#define ANNOTATION_ITEM_NAME LONGSHORE_PREFIX "/item-name"
#define ANNOTATION_ITEM_NAMESPACE LONGSHORE_PREFIX "/item-namespace"
/* On objects of a deployer without an identity: a hash that tells its Landscaper from others. */
#define LABEL_LANDSCAPER LONGSHORE_PREFIX "/landscaper"
/* On pods, exports and state: which job and pod made them. */
#define ANNOTATION_JOB LONGSHORE_PREFIX "/job"
#define ANNOTATION_POD_UID LONGSHORE_PREFIX "/pod-uid"
#define ANNOTATION_OPERATION_RUN LONGSHORE_PREFIX "/operation"
/* On state chunks: what makes a generation whole. sha256 is that of the concatenated chunks. */
#define ANNOTATION_STATE_CHUNKS LONGSHORE_PREFIX "/chunks"
#define ANNOTATION_STATE_SHA256 LONGSHORE_PREFIX "/sha256"
#define ANNOTATION_STATE_SEQUENCE LONGSHORE_PREFIX "/sequence"
#define ANNOTATION_STATE_BYTES LONGSHORE_PREFIX "/bytes"
/* Label value of inputs that go with one collection delete when the run ends. */
#define LABEL_ROLE LONGSHORE_PREFIX "/role"
#define LABEL_ROLE_RUN "run" /* inputs, pull secrets, host export: removed at the run's end */

/* Told to init and wait by our controller and by `longshore run`; absent under the Go controller.
 */
#define ENV_JOB_ID "LONGSHORE_JOB_ID"
#define ENV_POD_UID "LONGSHORE_POD_UID"
/* Sequence and sha256 of the last whole generation of state; empty: there is none. */
#define ENV_STATE_SEQUENCE "LONGSHORE_STATE_SEQUENCE"
#define ENV_STATE_SHA256 "LONGSHORE_STATE_SHA256"
/* The sequence that this pod's own generation must carry: higher than that of every pod of the item
 * that was made before, whether or not it has saved yet, so that a pod that wakes up late can't
 * overrule a newer one. max(last sequence + 1, unix seconds of the pod's making) is such a number,
 * and what wait takes where it is not told. */
#define ENV_STATE_NEXT_SEQUENCE "LONGSHORE_STATE_NEXT_SEQUENCE"
/* Directory with the state's chunks, a subdirectory a chunk Secret or a generation of the local
 * run. */
#define ENV_STATE_SOURCE_DIR "LONGSHORE_STATE_SOURCE_DIR"
#define PATH_STATE_SOURCE PATH_BASE "/state_source"
#define FILE_STATE_METADATA "metadata.json" /* beside a chunk's SECRET_KEY_CONFIG */
/* Prefix of the names of new state Secrets. */
#define ENV_STATE_NAME_PREFIX "LONGSHORE_STATE_NAME_PREFIX"
/* Where init finds the mounted target, if not at PATH_TARGET_SOURCE (local run). */
#define ENV_TARGET_SOURCE "LONGSHORE_TARGET_SOURCE"
/* wait: deliver into this directory instead of Secrets; main's end is one JSON line on this fd. */
#define ENV_SINK_DIR "LONGSHORE_SINK_DIR"
#define ENV_MAIN_END_FD "LONGSHORE_MAIN_END_FD"
/* wait: seconds between SIGTERM and SIGKILL, if not POD_GRACE_SECONDS. */
#define ENV_GRACE_SECONDS "LONGSHORE_GRACE_SECONDS"
/* init: registry options (oci.allowPlainHttp, oci.insecureSkipVerify), deadline for retries. */
#define ENV_OCI_PLAIN_HTTP "LONGSHORE_OCI_ALLOW_PLAIN_HTTP"
#define ENV_OCI_INSECURE "LONGSHORE_OCI_INSECURE_SKIP_VERIFY"
#define ENV_INIT_DEADLINE "LONGSHORE_INIT_DEADLINE"
#define INIT_DEADLINE_SECONDS 120 /* if it is not set */
/* Where the last line of a failed program goes, if not PATH_TERMINATION_LOG. */
#define ENV_TERMINATION_LOG "LONGSHORE_TERMINATION_LOG"

/* Script items: a program without an image of its own. */
#define DEPLOY_ITEM_TYPE_SCRIPT "landscaper.gardener.cloud/script"
#define SCRIPT_GROUP "script.deployer.landscaper.gardener.cloud"
#define SCRIPT_API_VERSION SCRIPT_GROUP "/v1alpha1"
#define PATH_SCRIPT_DIR PATH_BASE "/script"
#define FILE_SCRIPT "script"
#define PATH_SCRIPT PATH_SCRIPT_DIR "/" FILE_SCRIPT
#define VOLUME_SCRIPT "script"
#define VOLUME_STATE_SOURCE "state-source"
#define VOLUME_REGISTRY_SECRETS "registry-secrets"
#define VOLUME_TMP "tmp"
#define PATH_TMP "/tmp"
/* Name of the export Secret on the host, where it is not "NS-N-export"; also on the pod. */
#define ENV_EXPORT_NAME "LONGSHORE_EXPORT_NAME"
#define ANNOTATION_EXPORT_NAME LONGSHORE_PREFIX "/export"
/* On every object: made by us. */
#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define MANAGED_BY "longshore"
