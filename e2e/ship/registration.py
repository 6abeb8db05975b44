# SPDX-License-Identifier: Apache-2.0
"""Longshore as a DeployerRegistration, as a release contains it: images/registration.py."""

import json
import subprocess
import sys

from bench import paths
from ship import helm

SCRIPT = paths.CHECKOUT / "images" / "registration.py"
OPTIONS = ["--images", "registry.example/longshore", "--version", "v0.1.0"]


def build(*arguments):
    """Runs the script and returns the registration. build("ctf", "--output", FILE) also writes a transport archive."""
    done = subprocess.run([sys.executable, SCRIPT, *arguments, "--helm", helm.program(), *OPTIONS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def blueprint_of(registration):
    """The blueprint of the inline form."""
    return json.loads(registration["spec"]["installationTemplate"]["blueprint"]["inline"]["filesystem"]["blueprint.yaml"])
