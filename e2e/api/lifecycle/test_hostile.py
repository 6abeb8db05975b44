# SPDX-License-Identifier: Apache-2.0
"""Modules that are hostile or very large: each is reported, and none disturbs the others."""

import io
import tarfile

import yaml

from bench.waiting import wait_until
from lifecycle_harness import SYSTEM, config_map, tar

GOOD = config_map("good", answer="42")


def link_archive():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("manifest.yaml")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    return packed.getvalue()


LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join(b"*%c" % (97 + n) for _ in range(9))) for n in range(9))
HOSTILE = {
    "link": (link_archive(), {"media_type": "application/x-tar"}),
    "truncated": (tar({"m.yaml": b"x" * 4000})[:1000], {"media_type": "application/x-tar"}),
    "laughs": (LAUGHS, {}),
    "deep": (b"[" * 5000, {}),
    "scalar": (b"just text\n", {}),
    "nameless": (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", {}),
    "binary": (bytes(range(256)) * 40, {}),
    "otherdescriptor": (yaml.safe_dump(GOOD).encode(), {"descriptor": "component: {name: other, version: 9.9.9, provider: p, resources: []}\n"
                                                                    "meta: {schemaVersion: v2}\n"}),
    "nodescriptor": (yaml.safe_dump(GOOD).encode(), {"descriptor": "][" * 100}),
}


def test_hostile_modules_are_reported_and_large_ones_installed(world):
    world.start()
    for name, (content, options) in HOSTILE.items():
        world.publish(name, content, **options)
    world.publish("good", [GOOD])
    world.publish("many", [config_map(f"many-{number}", "default", number=str(number)) for number in range(400)])
    world.publish("large", [config_map(f"large-{number}", "default", filler="x" * 500000) for number in range(10)])
    world.access("fleet-0001")
    world.kyma(modules=[*HOSTILE, "good", "many", "large"])

    def states():
        return {m["name"]: m["state"] for m in world.status().get("modules", [])}

    wanted = {**{name: "Error" for name in HOSTILE}, "good": "Ready", "many": "Ready", "large": "Ready"}
    wait_until(lambda: states() == wanted, "the states", timeout=240)
    assert all(m["message"] for m in world.status()["modules"] if m["state"] == "Error")
    assert world.skr.get("configmaps", "good", SYSTEM)["data"] == {"answer": "42"}
    assert len([c for c in world.skr.items("configmaps", "default") if c["metadata"]["name"].startswith("many-")]) == 400
    assert len(world.manifest("many")["status"]["synced"]) == 400
    world.delete()
    assert world.objects() == []
