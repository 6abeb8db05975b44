/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of one pair, as the agent and the management controller of Landscaper v0.98 write them.
 */
#pragma once

/* What the agent of v0.98 writes for the name "default", and the registration of the mock deployer.
 */
#define ENVIRONMENT                                                                                \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: Environment\n"                                                                          \
    "metadata: {name: default, uid: env-uid}\n"                                                    \
    "spec:\n"                                                                                      \
    "  namespace: ls-system\n"                                                                     \
    "  hostTarget:\n"                                                                              \
    "    type: landscaper.gardener.cloud/kubernetes-cluster\n"                                     \
    "    annotations:\n"                                                                           \
    "      landscaper.gardener.cloud/environment: default\n"                                       \
    "      landscaper.gardener.cloud/deployer-only: 'true'\n"                                      \
    "    secretRef: {name: default-target-access, key: kubeconfig}\n"                              \
    "  landscaperClusterConfig: {host: 'https://ls.example:6443', apiPath: '', insecure: false, "  \
    "caData: QUJD}\n"                                                                              \
    "  targetSelectors:\n"                                                                         \
    "  - annotations: [{key: landscaper.gardener.cloud/environment, operator: '=', values: "       \
    "[default]}]\n"
#define REGISTRATION_OF(name_, more_)                                                              \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: DeployerRegistration\n"                                                                 \
    "metadata: {name: " name_ "}\n"                                                                \
    "spec:\n"                                                                                      \
    "  types: [landscaper.gardener.cloud/mock]\n"                                                  \
    "  installationTemplate:\n"                                                                    \
    "    componentDescriptor: {ref: {componentName: example.com/mock, version: v1.0.0}}\n"         \
    "    blueprint: {ref: {resourceName: mock-deployer-blueprint}}\n" more_
#define REGISTRATION REGISTRATION_OF("mock", "    importDataMappings: {values: {}}\n")

/* What v0.98 makes of both. */
#define INSTALLATION                                                                               \
    "apiVersion: landscaper.gardener.cloud/v1alpha1\n"                                             \
    "kind: Installation\n"                                                                         \
    "metadata:\n"                                                                                  \
    "  name: mock-default\n"                                                                       \
    "  namespace: ls-system\n"                                                                     \
    "  uid: inst-uid\n"                                                                            \
    "  generation: 1\n"                                                                            \
    "  labels:\n"                                                                                  \
    "    deployers.landscaper.gardener.cloud/environment: default\n"                               \
    "    deployers.landscaper.gardener.cloud/deployer-registration: mock\n"                        \
    "  finalizers: [finalizer.deployermanagement.landscaper.gardener.cloud, "                      \
    "finalizer.landscaper.gardener.cloud]\n"                                                       \
    "spec:\n"                                                                                      \
    "  componentDescriptor: {ref: {componentName: example.com/mock, version: v1.0.0}}\n"           \
    "  blueprint: {ref: {resourceName: mock-deployer-blueprint}}\n"                                \
    "  imports:\n"                                                                                 \
    "    targets: [{name: cluster, target: '#default'}, {name: landscaperCluster, target: "        \
    "'#mock-default'}]\n"                                                                          \
    "  importDataMappings:\n"                                                                      \
    "    identity: mock-default\n"                                                                 \
    "    releaseName: mock-default\n"                                                              \
    "    releaseNamespace: ls-system\n"                                                            \
    "    targetSelectors:\n"                                                                       \
    "    - annotations: [{key: landscaper.gardener.cloud/environment, operator: '=', values: "     \
    "[default]}]\n"                                                                                \
    "    values: {}\n"
#define TARGET                                                                                     \
    "kind: Target\n"                                                                               \
    "metadata:\n"                                                                                  \
    "  name: mock-default\n"                                                                       \
    "  ownerReferences: [{kind: Installation, name: mock-default, uid: inst-uid}]\n"               \
    "spec:\n"                                                                                      \
    "  type: landscaper.gardener.cloud/kubernetes-cluster\n"                                       \
    "  config:\n"                                                                                  \
    "    kubeconfig: |\n"                                                                          \
    "      apiVersion: v1\n"                                                                       \
    "      kind: Config\n"                                                                         \
    "      current-context: default\n"                                                             \
    "      clusters: [{name: default, cluster: {server: 'https://ls.example:6443', "               \
    "certificate-authority-data: QUJD}}]\n"                                                        \
    "      contexts: [{name: default, context: {cluster: default, user: default}}]\n"              \
    "      users: [{name: default, user: {token: TOKEN}}]\n"
#define BINDING                                                                                    \
    "kind: ClusterRoleBinding\n"                                                                   \
    "metadata: {name: mock-default}\n"                                                             \
    "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "                     \
    "'landscaper:deployer'}\n"                                                                     \
    "subjects: [{kind: ServiceAccount, name: mock-default, namespace: ls-system}]\n"
#define HOST_TARGET                                                                                \
    "metadata:\n"                                                                                  \
    "  name: default\n"                                                                            \
    "  annotations: {landscaper.gardener.cloud/environment: default, "                             \
    "landscaper.gardener.cloud/deployer-only: 'true', other: x}\n"                                 \
    "  ownerReferences: [{kind: Environment, name: default, uid: env-uid}]\n"                      \
    "spec:\n"                                                                                      \
    "  type: landscaper.gardener.cloud/kubernetes-cluster\n"                                       \
    "  secretRef: {name: default-target-access, key: kubeconfig}\n"
