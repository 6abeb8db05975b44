# SPDX-License-Identifier: Apache-2.0
"""Landscaper in control, with both real controllers of Flux, a git server and an OCI registry: from the source to the second cluster."""

import json

from bench import oci
from bench.flux import GIT_REPOSITORIES, OCI_REPOSITORIES, archive
from flux_harness import application
from flux_landscaper import Installations


def push(registry, colour):
    layer = oci.Blob(archive(application(colour)), "application/vnd.cncf.flux.content.v1.tar+gzip")
    config = oci.Blob(b"{}", "application/vnd.cncf.flux.config.v1+json")
    return registry.client().push("apps/app", "v1", oci.manifest_of(config, [layer]), [config, layer])


def run(world, items, job):
    for name in ("source", "app"):
        world.put(items[name], job)
        world.succeeded(name, job)


def assert_applied(world, revision, colour):
    assert (world.exported("app-export"), world.deployed(), world.kustomization()["status"]["lastAppliedRevision"]) == (
        {"colour": colour}, colour, revision)
    assert world.kustomization()["spec"]["suspend"] is True


def test_each_job_deploys_the_newest_commit_or_artifact(git_world, registry):
    world = git_world
    for number, colour in enumerate(("blue", "green", "red")):
        revision = world.commit(colour)
        # Nobody applies the commit before the job.
        assert number == 0 or world.deployed() != colour
        run(world, world.example("landscaper-control.yaml", f"t-{number}"), f"job-{number}")
        assert_applied(world, revision, colour)

    # The source moves from git to a registry: the item removes the former source.
    for number, colour in enumerate(("yellow", "white"), 3):
        digest = push(registry, colour)
        items = json.loads(json.dumps(world.example("landscaper-control.yaml", f"t-{number}")).replace("GitRepository", "OCIRepository"))
        items["source"]["spec"]["config"]["manifests"][0]["manifest"]["spec"] = {
            "url": f"oci://{registry.host}/apps/app", "ref": {"tag": "v1"}, "insecure": True, "interval": "876000h", "timeout": "60s"}
        run(world, items, f"job-{number}")
        assert_applied(world, f"v1@{digest}", colour)
        assert not world.remote.items(GIT_REPOSITORIES, world.space) and world.remote.items(OCI_REPOSITORIES, world.space)
    world.removed("app")
    assert world.deployed() is None and world.kustomization() is None
    world.removed("source")
    world.assert_nothing_left()


def test_one_item_waits_for_the_revision_that_its_source_has_fetched(git_world):
    world = git_world
    for number, colour in enumerate(("blue", "green")):
        revision = world.commit(colour)
        world.put(world.example("one-item.yaml", f"t-{number}")["app"], f"job-{number}")
        world.succeeded("app", f"job-{number}")
        assert_applied(world, revision, colour)
    world.removed("app")
    world.assert_nothing_left()


def test_a_value_flows_from_one_cluster_to_the_other(git_world):
    world = git_world
    installations = Installations(world, "data-flow.yaml")
    for number, colour in enumerate(("blue", "green")):
        world.commit(colour)
        installations.run(f"job-{number}")
        assert installations.data["colour"] == colour == world.deployed()
        assert world.found("settings")["data"] == {"colour": colour}
    # The Secret with the kubeconfig goes last: Flux needs it to remove the application.
    installations.remove()
    assert world.found("settings") is None and world.found("flow-cluster2", "secrets") is None
    world.assert_nothing_left()
