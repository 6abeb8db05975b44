/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in kinds of Kubernetes 1.34 in their stable versions: those that can be created and
 * read. */
#include <string.h>

#include "common/apply/kinds.h"

static const struct {
    const char *api_version, *kind;
    struct kind address;
} builtins[] = {
    {"v1", "ConfigMap", {"", "v1", "configmaps", true}},
    {"v1", "Endpoints", {"", "v1", "endpoints", true}},
    {"v1", "Event", {"", "v1", "events", true}},
    {"v1", "LimitRange", {"", "v1", "limitranges", true}},
    {"v1", "Namespace", {"", "v1", "namespaces", false}},
    {"v1", "Node", {"", "v1", "nodes", false}},
    {"v1", "PersistentVolume", {"", "v1", "persistentvolumes", false}},
    {"v1", "PersistentVolumeClaim", {"", "v1", "persistentvolumeclaims", true}},
    {"v1", "Pod", {"", "v1", "pods", true}},
    {"v1", "PodTemplate", {"", "v1", "podtemplates", true}},
    {"v1", "ReplicationController", {"", "v1", "replicationcontrollers", true}},
    {"v1", "ResourceQuota", {"", "v1", "resourcequotas", true}},
    {"v1", "Secret", {"", "v1", "secrets", true}},
    {"v1", "Service", {"", "v1", "services", true}},
    {"v1", "ServiceAccount", {"", "v1", "serviceaccounts", true}},
    {"admissionregistration.k8s.io/v1",
     "MutatingWebhookConfiguration",
     {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", false}},
    {"admissionregistration.k8s.io/v1",
     "ValidatingAdmissionPolicy",
     {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", false}},
    {"admissionregistration.k8s.io/v1",
     "ValidatingAdmissionPolicyBinding",
     {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", false}},
    {"admissionregistration.k8s.io/v1",
     "ValidatingWebhookConfiguration",
     {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", false}},
    {"apiextensions.k8s.io/v1",
     "CustomResourceDefinition",
     {"apiextensions.k8s.io", "v1", "customresourcedefinitions", false}},
    {"apiregistration.k8s.io/v1",
     "APIService",
     {"apiregistration.k8s.io", "v1", "apiservices", false}},
    {"apps/v1", "ControllerRevision", {"apps", "v1", "controllerrevisions", true}},
    {"apps/v1", "DaemonSet", {"apps", "v1", "daemonsets", true}},
    {"apps/v1", "Deployment", {"apps", "v1", "deployments", true}},
    {"apps/v1", "ReplicaSet", {"apps", "v1", "replicasets", true}},
    {"apps/v1", "StatefulSet", {"apps", "v1", "statefulsets", true}},
    {"autoscaling/v1",
     "HorizontalPodAutoscaler",
     {"autoscaling", "v1", "horizontalpodautoscalers", true}},
    {"autoscaling/v2",
     "HorizontalPodAutoscaler",
     {"autoscaling", "v2", "horizontalpodautoscalers", true}},
    {"batch/v1", "CronJob", {"batch", "v1", "cronjobs", true}},
    {"batch/v1", "Job", {"batch", "v1", "jobs", true}},
    {"certificates.k8s.io/v1",
     "CertificateSigningRequest",
     {"certificates.k8s.io", "v1", "certificatesigningrequests", false}},
    {"coordination.k8s.io/v1", "Lease", {"coordination.k8s.io", "v1", "leases", true}},
    {"discovery.k8s.io/v1", "EndpointSlice", {"discovery.k8s.io", "v1", "endpointslices", true}},
    {"events.k8s.io/v1", "Event", {"events.k8s.io", "v1", "events", true}},
    {"flowcontrol.apiserver.k8s.io/v1",
     "FlowSchema",
     {"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", false}},
    {"flowcontrol.apiserver.k8s.io/v1",
     "PriorityLevelConfiguration",
     {"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations", false}},
    {"networking.k8s.io/v1", "IPAddress", {"networking.k8s.io", "v1", "ipaddresses", false}},
    {"networking.k8s.io/v1", "Ingress", {"networking.k8s.io", "v1", "ingresses", true}},
    {"networking.k8s.io/v1", "IngressClass", {"networking.k8s.io", "v1", "ingressclasses", false}},
    {"networking.k8s.io/v1", "NetworkPolicy", {"networking.k8s.io", "v1", "networkpolicies", true}},
    {"networking.k8s.io/v1", "ServiceCIDR", {"networking.k8s.io", "v1", "servicecidrs", false}},
    {"node.k8s.io/v1", "RuntimeClass", {"node.k8s.io", "v1", "runtimeclasses", false}},
    {"policy/v1", "PodDisruptionBudget", {"policy", "v1", "poddisruptionbudgets", true}},
    {"rbac.authorization.k8s.io/v1",
     "ClusterRole",
     {"rbac.authorization.k8s.io", "v1", "clusterroles", false}},
    {"rbac.authorization.k8s.io/v1",
     "ClusterRoleBinding",
     {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", false}},
    {"rbac.authorization.k8s.io/v1", "Role", {"rbac.authorization.k8s.io", "v1", "roles", true}},
    {"rbac.authorization.k8s.io/v1",
     "RoleBinding",
     {"rbac.authorization.k8s.io", "v1", "rolebindings", true}},
    {"resource.k8s.io/v1", "DeviceClass", {"resource.k8s.io", "v1", "deviceclasses", false}},
    {"resource.k8s.io/v1", "ResourceClaim", {"resource.k8s.io", "v1", "resourceclaims", true}},
    {"resource.k8s.io/v1",
     "ResourceClaimTemplate",
     {"resource.k8s.io", "v1", "resourceclaimtemplates", true}},
    {"resource.k8s.io/v1", "ResourceSlice", {"resource.k8s.io", "v1", "resourceslices", false}},
    {"scheduling.k8s.io/v1",
     "PriorityClass",
     {"scheduling.k8s.io", "v1", "priorityclasses", false}},
    {"storage.k8s.io/v1", "CSIDriver", {"storage.k8s.io", "v1", "csidrivers", false}},
    {"storage.k8s.io/v1", "CSINode", {"storage.k8s.io", "v1", "csinodes", false}},
    {"storage.k8s.io/v1",
     "CSIStorageCapacity",
     {"storage.k8s.io", "v1", "csistoragecapacities", true}},
    {"storage.k8s.io/v1", "StorageClass", {"storage.k8s.io", "v1", "storageclasses", false}},
    {"storage.k8s.io/v1", "VolumeAttachment", {"storage.k8s.io", "v1", "volumeattachments", false}},
    {"storage.k8s.io/v1",
     "VolumeAttributesClass",
     {"storage.k8s.io", "v1", "volumeattributesclasses", false}},
};

const struct kind *kind_builtin(const char *api_version, const char *kind)
{
    for (size_t i = 0; i < array_length(builtins); i++) {
        if (strcmp(builtins[i].kind, kind) == 0 &&
            strcmp(builtins[i].api_version, api_version) == 0)
            return &builtins[i].address;
    }
    return NULL;
}

bool kind_builtin_at(size_t index, const char **ret_api_version, const char **ret_kind,
                     const struct kind **ret_address)
{
    if (index >= array_length(builtins))
        return false;
    *ret_api_version = builtins[index].api_version;
    *ret_kind = builtins[index].kind;
    *ret_address = &builtins[index].address;
    return true;
}
