# SPDX-License-Identifier: Apache-2.0
"""Values of Secrets are shown nowhere, not even if the API server quotes them."""

import json

from bench.waiting import wait_until
from lifecycle_harness import MANIFESTS, SYSTEM

VALUE = 4711081547110815


def test_a_value_that_the_api_server_quotes_is_not_shown(world):
    """The content of a module has a number where a text is expected: the API server's message repeats it."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials", "namespace": SYSTEM}, "stringData": {"password": VALUE}}
    program = world.start()
    world.publish("vault", [secret])
    world.access("fleet-0001")
    world.kyma(modules=["vault"])
    message = wait_until(lambda: (m := world.module("vault")) and m["state"] == "Error" and m["message"], "Error")
    assert f"Secret {SYSTEM}/credentials" in message, message
    wait_until(lambda: world.events("Manifest") and world.events("Kyma"), "Events")
    refused = [e["responseStatus"].get("message", "") for e in world.cluster.audit.entries(0, verb="patch", resource="secrets", user=world.user)]
    assert any(str(VALUE) in text for text in refused), f"the server does not quote the value, so nothing is shown here: {refused}"
    everything = json.dumps([world.events("Manifest"), world.events("Kyma"), world.status(), world.kcp.items(MANIFESTS, world.namespace),
                             world.skr.items("operator.kyma-project.io/v1beta2/kymas", SYSTEM)])
    assert str(VALUE) not in everything and str(VALUE) not in program.output()
