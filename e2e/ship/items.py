# SPDX-License-Identifier: Apache-2.0
"""DeployItems on the node, with jobs as Landscaper creates them."""

import base64
import json
import time

from bench.images import BUSYBOX
from bench.kube import CONTEXTS, DEPLOYITEMS

API = "landscaper.gardener.cloud/v1alpha1"
SCRIPT = """
if [ "$OPERATION" = DELETE ]; then exit 0; fi
n=$(cat "$STATE_PATH/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$STATE_PATH/count"
echo "{\\"count\\": $n}" > "$EXPORTS_PATH"
"""


def new_job(node, namespace, name, job):
    status = {"observedGeneration": 0, "jobID": job, "jobIDGenerationTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    node.kube.patch(DEPLOYITEMS, name, {"status": status}, namespace, "status")


def start_item(node, namespace, name, script, job, *, spec=None, config=None):
    """Starts a script in busybox as an item, which is created if necessary."""
    if node.kube.find(CONTEXTS, "default", namespace) is None:
        node.kube.create({"apiVersion": API, "kind": "Context", "metadata": {"name": "default", "namespace": namespace}})
    if node.kube.find(DEPLOYITEMS, name, namespace) is None:
        provider = {"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
                    "image": BUSYBOX, "command": ["/bin/sh", "-c"], "args": [script], **(config or {})}
        node.kube.create({"apiVersion": API, "kind": "DeployItem", "metadata": {"name": name, "namespace": namespace},
                          "spec": {"type": "landscaper.gardener.cloud/container", "config": provider, **(spec or {})}})
    new_job(node, namespace, name, job)


def finished(node, namespace, name, job):
    """The item when the job has finished."""
    return node.kube.wait_for(DEPLOYITEMS, name, lambda item: item["status"].get("jobIDFinished") == job, namespace, timeout=180)


def run_item(node, namespace, name, script, job, **more):
    """Starts a script as an item and returns the item when the job has finished."""
    start_item(node, namespace, name, script, job, **more)
    return finished(node, namespace, name, job)


def start_deletion(node, namespace, name, job):
    """Deletes an item with a job for its DELETE run."""
    node.kube.delete(DEPLOYITEMS, name, namespace)
    new_job(node, namespace, name, job)


def delete_item(node, namespace, name, job):
    """The same, and waits until the item is gone."""
    start_deletion(node, namespace, name, job)
    node.kube.wait_for(DEPLOYITEMS, name, lambda found: found is None, namespace, timeout=180)


def export_of(node, item):
    reference = item["status"]["exportRef"]
    secret = node.kube.get("secrets", reference["name"], reference["namespace"])
    return json.loads(base64.b64decode(secret["data"]["config"]))
