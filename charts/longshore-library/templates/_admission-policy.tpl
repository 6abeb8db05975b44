{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* For deployers that run pods: what the accounts of runs may create. */}}
{{- define "deployer.admissionPolicy" -}}
{{- /* RBAC can't restrict the names and types of Secrets that an account creates, and a Secret of type
     kubernetes.io/service-account-token would contain a token of any other account. This policy restricts the account of a
     wait container, READABLE-HASH-run, to Opaque Secrets of the item with that hash: its export and chunks of its state.
     The Go deployer's wait uses other names and labels; with its image the policy is not installed. */ -}}
{{- $served := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" }}
{{- if and .Values.admissionPolicy.enabled $served (not .Values.deployer.waitContainer.goImage) (not .Values.deployer.hostClusterKubeconfig) }}
{{- $namespace := include "deployer.hostNamespace" . }}
{{- $name := printf "%s.%s.wait" (include "deployer.fullname" .) $namespace }}
{{- $group := "container.deployer.landscaper.gardener.cloud" }}
{{- $prefix := printf "deployitem.%s" $group }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $name }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      resources: [secrets]
      operations: [CREATE, UPDATE]
  matchConditions:
  - name: by-a-wait-container
    expression: request.userInfo.username.matches('^system:serviceaccount:{{ $namespace }}:[a-z0-9-]+-[0-9a-f]{16}-run$')
  variables:
  - name: account
    expression: request.userInfo.username.substring({{ printf "system:serviceaccount:%s:" $namespace | len }})
  - name: hash
    expression: variables.account.substring(size(variables.account) - 20, size(variables.account) - 4)
  # The name of the item as it is part of account names: dots replaced by dashes, at most 42 characters.
  - name: readable
    expression: variables.account.substring(0, size(variables.account) - 21)
  - name: labels
    expression: "has(object.metadata.labels) ? object.metadata.labels : {}"
  - name: annotations
    expression: "has(object.metadata.annotations) ? object.metadata.annotations : {}"
  - name: item
    expression: >-
      '{{ $prefix }}/name' in variables.labels ? variables.labels['{{ $prefix }}/name'] : ''
  - name: isState
    expression: >-
      request.operation == 'CREATE' && object.metadata.name.matches(
      '^state-[a-z0-9.-]+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-[0-9]+$')
  # The Role of the account allows it to update one Secret: its export.
  - name: isExport
    expression: >-
      authorizer.group('').resource('secrets').namespace(request.namespace).name(object.metadata.name).check('update').allowed()
  # The name of the export is NAMESPACE-NAME-export, which is unique for items of the same name in two namespaces, or READABLE-HASH-export if that
  # would be ambiguous or too long. A label value that ends with a hash stands for a name of more than 63 characters.
  - name: isOwnNamespace
    expression: >-
      '{{ $prefix }}/namespace' in variables.labels && (
      variables.item.matches('_[0-9a-f]{16}$') ||
      authorizer.group('').resource('secrets').namespace(request.namespace)
      .name(variables.labels['{{ $prefix }}/namespace'] + '-' + variables.item + '-export').check('update').allowed() ||
      authorizer.group('').resource('secrets').namespace(request.namespace)
      .name((size(variables.readable) > 39 ? variables.readable.substring(0, 39).find('^.*[a-z0-9]') : variables.readable) +
      '-' + variables.hash + '-export').check('update').allowed())
  validations:
  - expression: "!has(object.type) || object.type == 'Opaque'"
    message: wait containers may write only Opaque Secrets
  - expression: variables.isState || variables.isExport
    message: wait containers may write only the export and new state chunks of their own item
  - expression: >-
      'longshore.{{ $group }}/item' in variables.labels && variables.labels['longshore.{{ $group }}/item'] == variables.hash &&
      (size(variables.item) > 42 ? variables.item.substring(0, 42) : variables.item).replace('.', '-').matches('^' + variables.readable + '-*$') &&
      variables.isOwnNamespace
    message: the labels must be those of the wait container's own item
  - expression: >-
      ('{{ $group }}/type' in variables.labels) == variables.isState &&
      (!variables.isState || variables.labels['{{ $group }}/type'] == 'state')
    message: Secrets with state, and only these, must have the label type=state
  # Labels and annotations can control other programs in the cluster; owners and finalizers control Kubernetes.
  - expression: >-
      variables.labels.all(key, key in ['{{ $group }}/name', '{{ $group }}/type', '{{ $prefix }}/name',
      '{{ $prefix }}/namespace', 'longshore.{{ $group }}/item', 'longshore.{{ $group }}/role', 'app.kubernetes.io/managed-by']) &&
      variables.annotations.all(key, key.startsWith('{{ $group }}/') || key.startsWith('longshore.{{ $group }}/')) &&
      !has(object.metadata.ownerReferences) && !has(object.metadata.finalizers)
    message: only labels and annotations of the deployer are allowed, and no owners or finalizers
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  policyName: {{ $name }}
  validationActions: [Deny]
  matchResources:
    namespaceSelector:
      matchLabels:
        kubernetes.io/metadata.name: {{ $namespace }}
{{- end }}
{{- end -}}
