/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Kyma's API that the lifecycle manager reads and writes. They are those of the original,
 * so that a control plane can switch in either direction without touching an object. */
#pragma once

#define KYMA_GROUP "operator.kyma-project.io"
#define KYMA_API_VERSION KYMA_GROUP "/v1beta2"
#define KIND_KYMA "Kyma"
#define KIND_MODULE_TEMPLATE "ModuleTemplate"
#define KIND_MODULE_RELEASE_META "ModuleReleaseMeta"
#define KIND_MANIFEST "Manifest"

#define KYMA_CONDITION_CRDS "CRDsSync" /* the definitions of Kyma's kinds are in the cluster */
#define KYMA_CONDITION_CATALOG "ModuleCatalog"
#define KYMA_NAMESPACE "kyma-system" /* in a managed cluster */
#define KYMA_CONTROL_PLANE_NAMESPACE "kcp-system"
#define KYMA_REMOTE_NAME "default"

#define KYMA_LABEL_KYMA_NAME KYMA_GROUP "/kyma-name"
#define KYMA_LABEL_MODULE_NAME KYMA_GROUP "/module-name"
#define KYMA_LABEL_CONTROLLER_NAME KYMA_GROUP "/controller-name"
#define KYMA_LABEL_CHANNEL KYMA_GROUP "/channel"
#define KYMA_LABEL_COMPONENT "app.kubernetes.io/component"
#define KYMA_LABEL_MANAGED_BY KYMA_GROUP "/managed-by"
#define KYMA_LABEL_MANDATORY KYMA_GROUP "/mandatory-module"
#define KYMA_LABEL_INTERNAL KYMA_GROUP "/internal"
#define KYMA_LABEL_BETA KYMA_GROUP "/beta"
#define KYMA_MANAGED_BY_CONTROL_PLANE "lifecycle-manager"
#define KYMA_MANAGED_BY_CLUSTER "kyma"

#define KYMA_LABEL_GLOBAL_ACCOUNT "kyma-project.io/global-account-id"
#define KYMA_LABEL_PLAN "kyma-project.io/broker-plan-name"
#define KYMA_LABEL_REGION "kyma-project.io/region"
#define KYMA_LABEL_PLATFORM_REGION "kyma-project.io/platform-region"

#define KYMA_ANNOTATION_FQDN KYMA_GROUP "/fqdn"
#define KYMA_ANNOTATION_COMPONENT KYMA_GROUP "/ocm-component-name"
#define KYMA_ANNOTATION_CLUSTER_SCOPED KYMA_GROUP "/is-cluster-scoped"
#define KYMA_ANNOTATION_UNMANAGED KYMA_GROUP "/is-unmanaged"
#define KYMA_ANNOTATION_DISCLAIMER KYMA_GROUP "/managed-by-reconciler-disclaimer"
#define KYMA_ANNOTATION_OWNED_BY "deprecated-operator.kyma-project.io/owned-by"
#define KYMA_ANNOTATION_SYNCED_REF "sync-oci-ref"
#define KYMA_LABEL_SKIP KYMA_GROUP "/skip-reconciliation"
#define KYMA_LABEL_WATCHED_BY KYMA_GROUP "/watched-by"
#define KYMA_LABEL_RUNTIME "kyma-project.io/runtime-id"
#define KYMA_LABEL_SUBACCOUNT "kyma-project.io/subaccount-id"
#define KYMA_LABEL_INSTANCE "kyma-project.io/instance-id"
#define KYMA_ANNOTATION_DOMAIN "skr-domain"

#define KYMA_FINALIZER KYMA_GROUP "/Kyma"
#define MANIFEST_FINALIZER "declarative.kyma-project.io/finalizer"
#define MANIFEST_LABEL_FINALIZER "label-removal-finalizer"
#define MANIFEST_RESOURCE_FINALIZER "resource.kyma-project.io/finalizer"
#define RELEASE_FINALIZER KYMA_GROUP "/mandatory-module"

#define KYMA_FIELD_MANAGER "lifecycle-manager"                           /* in the control plane */
#define KYMA_FIELD_MANAGER_APPLIER "declarative.kyma-project.io/applier" /* objects of modules */
#define KYMA_FIELD_MANAGER_RESOURCE "resource.kyma-project.io/finalizer" /* default resources */
#define KYMA_FIELD_MANAGER_CATALOG "catalog-sync"
#define KYMA_FIELD_MANAGER_SYNC "kyma-sync-context" /* namespace and Kyma of a managed cluster */
