# SPDX-License-Identifier: Apache-2.0
"""Charts that the tests make, and the helm that they are rendered with."""

import base64
import io
import json
import os
import subprocess
import tarfile

import yaml

from bench import paths

# LONGSHORE_HELM=4: helm 4 instead of 3, for tests of helm items.
MAJOR = int(os.environ.get("LONGSHORE_HELM") or 3)


def helm_program(major=MAJOR):
    return paths.tool_directory("helm4" if major == 4 else "helm") / "helm"


def chart_archive(files, name="app", version="1.0.0", top=None, **metadata):
    """A chart as helm packages it. files: path -> text or object."""
    content = {"Chart.yaml": {"apiVersion": "v2", "name": name, "version": version, **metadata}, **files}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, text in content.items():
            data = text if isinstance(text, bytes) else (text if isinstance(text, str) else yaml.safe_dump(text)).encode()
            entry = tarfile.TarInfo(f"{top or name}/{path}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def raw(archive):
    """The chart of an item that contains the archive itself."""
    return {"archive": {"raw": base64.b64encode(archive).decode()}}


def template(archive, values, namespace, *more, major=MAJOR):
    """What `helm template` of that version renders on the command line."""
    folder = paths.fresh_directory("helm-template")
    (folder / "chart.tgz").write_bytes(archive)
    (folder / "values.yaml").write_text(json.dumps(values))
    done = subprocess.run([helm_program(major), "template", "app", folder / "chart.tgz", "--namespace", namespace, "--values",
                           folder / "values.yaml", "--include-crds", *more], capture_output=True, text=True, check=True)
    return [thing for thing in yaml.safe_load_all(done.stdout) if thing]
