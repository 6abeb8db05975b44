# SPDX-License-Identifier: Apache-2.0
"""The status page of `longshore registrations`."""

import json

from bench import ports
from bench.browser import Browser
from bench.page_client import PageClient
from bench.page_view import assert_no_other_hosts
from bench.waiting import wait_until
from registrations_harness import ENVIRONMENTS, REGISTRATIONS, environment, registration


def rows(page, kind):
    return {row["name"]: (row["state"], row.get("type")) for row in page.api("rows", kind=kind)["rows"]}


def test_environments_and_their_deployers_are_shown_and_updated(world):
    page = PageClient(ports.free_port())
    world.start("--ui=on", f"--metrics-address=127.0.0.1:{page.port}")
    world.create(environment("one"))
    world.create(registration("mock"))
    world.wait_triggered("mock-one")
    wait_until(lambda: rows(page, "environments").get("one") == ("NotReady", "0/1"), "an environment whose deployer is not ready")
    world.finish("mock-one")
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "True")
    wait_until(lambda: rows(page, "environments").get("one") == ("Ready", "1/1"), "the environment is ready")
    wait_until(lambda: rows(page, "deployers").get("mock") == ("Ready", "1/1"), "the deployer is ready")
    detail = page.api("row", kind="environments", name="one")
    assert [(other["kind"], other["name"], other["state"]) for other in detail["related"]] == [("deployers", "mock", "Ready")]
    assert {condition["type"] for condition in detail["conditions"]} >= {"Valid", "DeployersReady"}
    secret = world.kube.get(ENVIRONMENTS, "one")["spec"]["landscaperClusterConfig"]["caData"]
    assert secret not in json.dumps(detail)
    assert page.api("overview")["facts"] == [{"label": "Role", "value": "leader"}]

    with Browser() as browser:
        browser.size(1280, 800)
        browser.open(page.address + "#open=/one")
        browser.wait("document.querySelector('#detail')?.innerText.includes('mock')")
        browser.click("#detail .plain a")
        browser.wait("document.querySelector('#detail h2')?.innerText == 'mock' && document.querySelector('#type-title').innerText == 'Environments'")
        assert browser.run("document.querySelector('#namespace-field').hidden") is True, "they have no namespace"
        assert_no_other_hosts(browser)
        assert browser.errors == [] and browser.all_violations() == []
