# SPDX-License-Identifier: Apache-2.0
"""Charts in repositories and registries that need credentials: wrong, valid, and rotated ones."""

import json

from bench.charts import chart_archive
from bench.chart_repository import basic, index
from init.parts import push_chart

CHART = chart_archive({"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
FILES = {"/charts/index.yaml": index({"version": "1.0.0", "urls": ["app.tgz"]}), "/charts/app.tgz": CHART}
CREDENTIALS = ("user", "secret-1")


def repository(server):
    """The chart of FILES in a classic repository."""
    return {"helmChartRepo": {"helmChartRepoUrl": f"{server.url}/charts", "helmChartName": "app", "helmChartVersion": "1.0.0"}}


def credentials(world, auths, **more):
    world.context(configurations={"helmChartRepoCredentials": {"auths": auths}}, **more)


def texts(world, name):
    """Everything that users and operators can read about an item."""
    return json.dumps([world.status(name), world.events(name)]) + world.log()


def check_repository_credentials(world, server, chart, is_release=False, **context):
    """None, wrong, valid, and rotated, for a repository whose entry of the Context has a Secret. context: other fields of the Context."""
    header = {"good": basic(CREDENTIALS), "wrong": basic(("user", "CANARY-wrong"))}

    def fails(job):
        error = world.failed("item", job)["lastError"]["message"]
        assert "401" in error, error
        return error

    world.deploy("item", chart, is_release=is_release)
    fails("job-1")
    world.secret("chart-credentials", {"authHeader": header["wrong"]})
    credentials(world, [{"url": "http://127.0.0.1:1", "authHeader": header["good"]},
                        {"url": server.url, "secretRef": {"name": "chart-credentials"}}], **context)
    world.trigger("item", "job-2")
    assert "helmChartRepoCredentials" in fails("job-2")
    world.secret("chart-credentials", {"authHeader": header["good"]})
    world.trigger("item", "job-3")
    world.succeeded("item", "job-3")
    assert world.names() == ["a"]
    server.credentials = ("user", "secret-2")
    world.trigger("item", "job-4")
    fails("job-4")
    world.secret("chart-credentials", {"authHeader": basic(server.credentials)})
    world.trigger("item", "job-5")
    world.succeeded("item", "job-5")
    told = texts(world, "item")
    for secret in ("CANARY-wrong", "secret-1", "secret-2", *header.values()):
        assert secret not in told and secret.removeprefix("Basic ") not in told


def check_registry_credentials(world, registry, is_release=False):
    """None, wrong, valid and rotated, of the Context, for the chart of chart.ref."""
    place = f"{world.namespace}/charts/app"
    push_chart(registry.client(), place, "1.0.0", CHART)

    def use(credentials):
        entry = dict(zip(("username", "password"), credentials))
        world.secret("pull", {".dockerconfigjson": {"auths": {registry.host: entry}}}, type="kubernetes.io/dockerconfigjson")

    def fails(job):
        world.trigger("item", job)
        error = world.failed("item", job)["lastError"]["message"]
        assert "registryPullSecrets" in error, error

    def succeeds(job):
        world.trigger("item", job)
        world.succeeded("item", job)
        assert world.names() == ["a"]

    world.deploy("item", {"ref": f"{registry.host}/{place}:1.0.0"}, job=None, is_release=is_release)
    use(("ship", "CANARY-wrong"))
    world.context(registryPullSecrets=[{"name": "pull"}])
    fails("job-1")
    use(registry.credentials)
    succeeds("job-2")
    with registry.rotated("CANARY-rotated") as rotated:
        fails("job-3")
        use(rotated)
        succeeds("job-4")
    assert "CANARY" not in texts(world, "item")
