# SPDX-License-Identifier: Apache-2.0
"""Writes values.schema.json of every chart: run it after a change. A test compares. Unknown keys are rejected, so that a typing mistake is
not ignored; every key of the Go deployers' charts is listed."""

import json
import pathlib

HERE = pathlib.Path(__file__).parent
TEXT = {"type": ["string", "null"]}
NAME = {"type": ["string", "null"], "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", "maxLength": 63}
TAG = {"type": ["string", "number", "null"]}
FLAG = {"type": "boolean"}
ANY_OBJECT = {"type": ["object", "null"]}
TEXT_MAP = {"type": ["object", "null"], "additionalProperties": {"type": ["string", "number", "boolean"]}}
LIST = {"type": ["array", "null"]}
OBJECTS = {"type": ["array", "null"], "items": {"type": "object"}}
PULL_POLICY = {"type": ["string", "null"], "enum": ["Always", "IfNotPresent", "Never", "", None]}
DURATION = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$"}
COUNT = {"type": "integer", "minimum": 0}
POSITIVE = {"type": "integer", "minimum": 1}


def integer(least, most):
    return {"type": "integer", "minimum": least, "maximum": most}


def closed(**properties):
    return {"type": ["object", "null"], "additionalProperties": False, "properties": properties}


QUANTITIES = {"type": ["object", "null"], "additionalProperties": {"type": ["string", "number"]}}
RESOURCES = closed(requests=QUANTITIES, limits=QUANTITIES, claims=OBJECTS)
ENVIRONMENT = {"type": ["array", "null"], "items": closed(name={"type": "string", "minLength": 1}, value={"type": ["string", "number", "boolean"]},
                                                          valueFrom=ANY_OBJECT) | {"required": ["name"]}}
KUBECONFIG = closed(kubeconfig={"type": "string"}, secretRef={"type": "string", "minLength": 1}) | {"not": {"required": ["kubeconfig", "secretRef"]}}
PORT = integer(1, 65535)
CLIENT = closed(burst=POSITIVE, qps=POSITIVE)
HELPER = closed(repository=TEXT, tag=TAG, pullPolicy=PULL_POLICY, command=LIST | {"type": ["array", "string", "null"]},
                args=LIST | {"type": ["array", "string", "null"]}, resources=RESOURCES, goImage=FLAG, env=ENVIRONMENT)
ELECTION = closed(enabled=FLAG, leaseName={"type": "string"}, leaseNamespace={"type": "string"}, leaseDuration=DURATION)

LEVEL = {"type": ["string", "integer", "null"], "pattern": "^(|[Ee][Rr][Rr][Oo][Rr]|[Ii][Nn][Ff][Oo]|[Dd][Ee][Bb][Uu][Gg]|[0-9]+)$"}

# Keys below "deployer" that every chart of a deployer has.
DEPLOYER = {
    "landscaperClusterKubeconfig": KUBECONFIG, "identity": TEXT, "namespace": NAME,
    "verbosityLevel": LEVEL,
    "targetSelector": {"type": ["array", "object", "null"]},
    "controller": closed(workers=POSITIVE, cacheSyncTimeout=DURATION),
    "k8sClientSettings": closed(hostClient=CLIENT, resourceClient=CLIENT),
    "leaderElection": ELECTION,
}
HELM = {"repository": TEXT, "tag": TAG, "pullPolicy": PULL_POLICY, "command": {"type": ["array", "null"], "items": {"type": "string"}},
        "version": integer(3, 4), "resources": RESOURCES}
LATE_CHANGES = closed(trigger=FLAG, minimumInterval=DURATION)

# Keys at the top for a pod with our image.
POD = {
    "imageRegistry": {"type": "string"}, "image": closed(repository=TEXT, pullPolicy=PULL_POLICY, tag=TAG),
    "imagePullSecrets": OBJECTS, "nameOverride": TEXT, "fullnameOverride": TEXT,
    "serviceAccount": closed(create=FLAG, annotations=TEXT_MAP, name=TEXT),
    "podAnnotations": TEXT_MAP, "podSecurityContext": ANY_OBJECT, "securityContext": ANY_OBJECT, "resources": RESOURCES,
    "nodeSelector": TEXT_MAP, "tolerations": OBJECTS, "affinity": ANY_OBJECT,
    # Added by Helm.
    "global": {"type": "object"}, "longshore-library": {"type": "object"},
}

# Keys at the top that the template deployer.common of the library uses.
SERVED = POD | {
    "replicaCount": COUNT, "podLabels": TEXT_MAP, "priorityClassName": TEXT, "terminationGracePeriodSeconds": COUNT, "extraEnv": ENVIRONMENT,
    "probes": closed(enabled=FLAG, port=PORT), "metrics": closed(port=integer(0, 65535)), "ui": closed(enabled=FLAG, authentication=FLAG),
    "podDisruptionBudget": closed(enabled=FLAG, maxUnavailable={"type": ["integer", "string"]}),
    "networkPolicy": closed(enabled=FLAG, metricsFrom=OBJECTS, apiServerPorts={"type": "array", "items": PORT}, extraEgress=OBJECTS),
}

# Keys at the top that every chart of a deployer has.
COMMON = SERVED | {
    "rbac": closed(namespaces={"type": ["array", "null"], "maxItems": 100, "uniqueItems": True, "items": NAME | {"type": "string", "minLength": 1}}),
    "hpa": closed(maxReplicas=POSITIVE, averageCpuUtilization=POSITIVE, averageMemoryUtilization=POSITIVE),
}

# Keys below "deployer" of deployers that run pods.
PODS = DEPLOYER | {
    "hostClusterKubeconfig": KUBECONFIG, "initContainer": HELPER, "waitContainer": HELPER,
    "oci": closed(allowPlainHttp=FLAG, insecureSkipVerify=FLAG, caBundle=TEXT,
                  secrets={"type": ["object", "null"], "additionalProperties": {"type": ["object", "string"]}}),
    "garbageCollection": closed(disable=FLAG, worker={"type": "integer"}, requeueTimeSeconds=POSITIVE),
    "debug": closed(keepPod=FLAG), "deleteOperation": {"type": "string", "enum": ["run", "skip"]}, "imageGracePeriod": DURATION,
    "state": closed(generations=integer(1, 10)), "logTail": closed(lines=integer(0, 200)),
    "pod": closed(sharedVolumeSizeLimit={"type": "string"}, nodeSelector=TEXT_MAP, tolerations=OBJECTS, runtimeClassName={"type": "string"},
                  priorityClassName={"type": "string"}, resources=RESOURCES, terminationGracePeriodSeconds=integer(1, 86400),
                  maxTerminationGracePeriodSeconds=integer(1, 86400)),
}
RUNS = closed(createNamespace=FLAG, keepNamespace=FLAG, namespaceLabels=TEXT_MAP, resourceQuota=QUANTITIES, limitRange=OBJECTS,
              networkPolicy=closed(enabled=FLAG, egress=OBJECTS))

CHARTS = {
    "container-deployer": COMMON | {
        "deployer": closed(**PODS | {
            "defaultImage": closed(repository=TEXT, tag=TAG, image=TEXT),
            "manifest": closed(enabled=FLAG, lateChanges=LATE_CHANGES), "helm": closed(enabled=FLAG, **HELM),
            "script": closed(enabled=FLAG, image={"type": "string"}, command={"type": "array", "items": {"type": "string"}},
                             imagePullPolicy={"type": "string"}, resources=RESOURCES)}),
        "metrics": closed(port=integer(0, 65535), serviceMonitor=closed(enabled=FLAG, interval={"type": "string"}, labels=TEXT_MAP),
                          rules=closed(enabled=FLAG, labels=TEXT_MAP), dashboard=closed(enabled=FLAG, labels=TEXT_MAP, annotations=TEXT_MAP)),
        "runs": RUNS, "admissionPolicy": closed(enabled=FLAG), "crds": closed(install=FLAG, keep=FLAG),
    },
    "helm-deployer": COMMON | {
        "deployer": closed(**PODS | {"helm": closed(**HELM)}),
        "runs": RUNS, "admissionPolicy": closed(enabled=FLAG),
    },
    "manifest-deployer": COMMON | {
        "deployer": closed(**DEPLOYER | {"lateChanges": LATE_CHANGES, "tokenAccounts": {"type": ["array", "null"], "items": {"type": "string"}}}),
    },
    "deployer-registrations": SERVED | {
        # With all fields of a LandscaperConfiguration; agent and deployerRepositoryContext are ignored.
        "deployerManagement": closed(
            namespace=NAME, acceptance={"enum": ["auto", "manual"]}, externalTypes={"type": "array", "items": {"type": "string", "minLength": 1}},
            tokenSeconds=integer(600, 1 << 30), clusterRole={"type": "string", "minLength": 1}, disable={"const": False}, agent=ANY_OBJECT,
            deployerRepositoryContext=ANY_OBJECT) | {"type": "object"},
        "deployerRole": closed(create=FLAG, extraRules=OBJECTS), "crds": closed(install=FLAG, keep=FLAG),
        "admissionPolicy": closed(enabled=FLAG, accountPrefix={"type": "string", "minLength": 1}), "verbosity": {"enum": ["", "error", "info", "debug", None]},
    },
    "landscaper-agent": POD | {
        "agent": closed(
            name=TEXT, namespace=NAME, landscaperNamespace=NAME,
            landscaperClusterKubeconfig=closed(kubeconfig=TEXT, secretRef=closed(name=TEXT) | {"type": ["string", "object", "null"]}),
            targetSelectors=OBJECTS, verbosity=LEVEL,
            registryConfig=closed(allowPlainHttpRegistries=FLAG, insecureSkipVerify=FLAG, cache=closed(useInMemoryOverlay=FLAG),
                                  secrets={"type": ["object", "null"], "additionalProperties": {"type": ["object", "string"]}}),
            hostAccess={"enum": ["token", "none"]}, access={"enum": ["inline", "agent"]}, acceptance={"enum": ["auto", "manual"]},
            tokenSeconds=POSITIVE, leaveTimeout=DURATION, hostRules=closed(namespace=OBJECTS, cluster=OBJECTS)) | {"type": "object"},
        "deployer": closed(enabled=FLAG, types={"type": "array", "items": {"type": "string", "minLength": 1}}, helm=closed(enabled=FLAG, **HELM),
                           initContainer=HELPER, waitContainer=HELPER, configuration=ANY_OBJECT, resources=RESOURCES) | {"type": "object"},
    },
    "lifecycle-manager": SERVED | {
        "registry": closed(host=TEXT, subPath=TEXT, credentialsSecret=TEXT), "ownCluster": FLAG, "shareClusters": FLAG, "moduleState": {"enum": ["both", "manager", "resource"]},
        "maintenancePolicy": ANY_OBJECT, "minMaintenanceWindowSize": DURATION, "verbosityLevel": {"enum": ["", "error", "info", "debug", None]},
        "installCRDs": FLAG, "metrics": closed(port=integer(0, 65535), dashboard=FLAG),
    },
}


def schema_of(name):
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"Values of the chart {name}", "$comment": "written by charts/schemas.py",
            "type": "object", "additionalProperties": False, "properties": CHARTS[name]}


def text_of(name):
    return json.dumps(schema_of(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for chart in CHARTS:
        (HERE / chart / "values.schema.json").write_text(text_of(chart))
