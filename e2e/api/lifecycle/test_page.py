# SPDX-License-Identifier: Apache-2.0
"""The status page of `longshore lifecycle`."""

import json

from bench import ports
from bench.page_client import PageClient
from bench.waiting import wait_until


def test_clusters_and_modules_are_shown_by_state_and_updated(world):
    page = PageClient(ports.free_port())
    world.start("--ui=on", f"--metrics-address=127.0.0.1:{page.port}")
    world.kyma("no-access")
    world.ready()
    manifest = world.manifest()["metadata"]["name"]

    def rows(kind):
        return {(row.get("namespace"), row["name"]): (row["state"], row.get("type")) for row in page.api("rows", kind=kind)["rows"]}

    wait_until(lambda: rows("clusters").get((None, "fleet-0001")) == ("Ready", "regular"), "a cluster that is ready")
    wait_until(lambda: rows("modules").get(("fleet-0001", manifest), ("", ""))[0] == "Ready", "a module that is ready")
    assert rows("clusters")[None, "no-access"][0] != "Ready"
    detail = page.api("row", kind="clusters", name="fleet-0001")
    assert [(other["kind"], other["namespace"], other["name"], other["state"]) for other in detail["related"]] == [
        ("modules", "fleet-0001", manifest, "Ready")]
    assert detail["relatedTitle"] == "Modules" and {"kind", "namespace", "name", "state", "tone"} <= set(detail["related"][0])
    assert page.api("namespaces", kind="modules")["namespaces"][0]["name"] == "fleet-0001"
    assert page.api("namespaces", kind="clusters")["total"] == 0
    detail = page.api("row", kind="modules", namespace="fleet-0001", name=manifest)
    assert {"label": "Module", "value": "harbour"} in detail["facts"]
    assert "certificate" not in json.dumps(detail)
    world.delete("fleet-0001")
    wait_until(lambda: (None, "fleet-0001") not in rows("clusters") and not rows("modules"), "rows are removed")
