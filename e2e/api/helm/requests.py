# SPDX-License-Identifier: Apache-2.0
"""The requests of a job that renders a chart and applies its objects. A world has audit (the log), and two users: user, of the Target, and
controller_user."""

from bench.audit import resource_of
from bench.charts import chart_archive, raw

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: {{ .Values.%s | quote }}}\n"
CHART = raw(chart_archive({f"templates/{name}.yaml": OBJECT % (name, name) for name in "abc"}))
CAPABILITIES = ["get /apis", "get /version"]
STATUS = "patch deployitems/status"
# The controller's to the other clusters, besides two for the Secret of the Target, if it has one.
RUN = ["get targets", "get contexts", "list secrets", "patch secrets", "create pods", STATUS,      # the pod
       "list secrets", "get secrets", "get targets", STATUS,                                       # what it rendered
       "deletecollection secrets", "delete pods", "patch pods"]                                    # the end
# Not of a job.
OTHERS = ("events", "leases")


def requests(world, user, mark):
    entries = [e for e in world.audit.entries(mark, user=user) if e["verb"] != "watch" and resource_of(e) not in OTHERS]
    return sorted(f"{e['verb']} {resource_of(e) or e['requestURI'].partition('?')[0]}" for e in entries)


def requests_of_job(world, job, values):
    """Runs a job; values: one letter for each of the three objects. Returns the requests to the target, and those of the controller to
    the other clusters."""
    change = world.deploy if job == "job-1" else world.update
    mark = world.audit.mark()
    change("item", CHART, job=job, values=dict(zip("abc", values)))
    world.succeeded("item", job)
    world.wait_for_cleanup()
    return requests(world, world.user, mark), requests(world, world.controller_user, mark)


def check_requests_to_the_target(world):
    """Jobs that change none, one and all of three objects, and one after somebody else changed an object. Yields each job but the first
    with the requests of the controller to the other clusters."""
    theirs, _ = requests_of_job(world, "job-1", "111")
    assert theirs == sorted([*CAPABILITIES, *["create configmaps"] * 3])
    for job, values, changed in (("job-2", "111", 0), ("job-3", "121", 1), ("job-4", "232", 3)):
        theirs, ours = requests_of_job(world, job, values)
        assert theirs == sorted([*CAPABILITIES, "list configmaps", *["update configmaps"] * changed]), job
        yield job, ours
    world.kube.patch("configmaps", "b", {"data": {"a": "drifted"}}, world.space)
    theirs, ours = requests_of_job(world, "job-5", "232")
    assert theirs == sorted([*CAPABILITIES, "list configmaps", "update configmaps"]) and world.found("b")["data"] == {"a": "3"}
    yield "job-5", ours
