# SPDX-License-Identifier: Apache-2.0
"""Memory of the programs of the images in a pod. All pages count, because static programs share no library with others."""

import os
import pathlib
import subprocess
import sys

import pytest

from bench import paths, privileges
from bench.oci import Blob
from init import harness, peak
from init.parts import DESCRIPTOR_JSON, DESCRIPTOR_YAML, context, push_component, reference
from init.test_resources import heavy, written_as_json, written_as_yaml
from ship import release

MIB = 1024 * 1024
NAME = "example.com/ship/app"


@pytest.mark.parametrize("form", ["JSON", "YAML"])
def test_init_with_4_mib_of_descriptor_stays_below_40_mib(registry, monkeypatch, form):
    privileges.require_root("running init as the user of a pod")
    release.archives()
    monkeypatch.setattr(harness, "PROGRAM", release.BUILD / "bin" / "longshore-init")
    body = heavy(NAME, 4 * MIB)
    layer = Blob(written_as_json(body), DESCRIPTOR_JSON) if form == "JSON" else Blob(written_as_yaml(body), DESCRIPTOR_YAML)
    push_component(registry.client(), f"static-{form.lower()}", body, layer=layer)
    pod = harness.Pod(paths.fresh_directory("init"))
    pod.write("configuration.json", reference(context(f"{registry.url}/static-{form.lower()}"), NAME))
    found = pathlib.Path(paths.fresh_directory("peak")) / "peak"
    # Runs as root, which may write the result. The user of the pod does not matter here.
    command = [sys.executable, peak.__file__, str(found), "/usr/bin/setpriv", "--reuid=1000", "--regid=3000", "--groups=2000",
               *pod.command()]
    done = subprocess.run(command, env={"PATH": os.environ["PATH"], **pod.env}, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (pod.shared / "component_descriptor.json").stat().st_size > 3 * MIB
    assert int(found.read_text()) * 1024 <= 40 * MIB, found.read_text()
