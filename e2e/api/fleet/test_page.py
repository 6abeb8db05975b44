# SPDX-License-Identifier: Apache-2.0
"""The status page of the lifecycle manager in a headless Chromium: 20 simulated clusters with modules, then ten thousand."""

import pytest

from bench import load, ports
from bench.browser import Browser
from bench.fleet_modules import API, GROUP, SYSTEM
from bench.fleet_world import NAMESPACE, FleetWorld, kyma_name
from bench.kyma_view import KYMAS
from bench.page_client import PageClient
from bench.page_view import PAGE_ROWS, assert_no_other_hosts, fill, fresh, names, wait_empty, wait_state, wait_total
from bench.waiting import wait_until

CLUSTERS, MODULES = 20, 2
BROKEN = 7
# Clusters whose kubeconfig has not arrived yet.
WAITING = 9980
DEPLOYMENTS = "apps/v1/deployments"
BADGE = "#detail .badge"


@pytest.fixture(scope="module")
def world():
    made = FleetWorld(CLUSTERS, MODULES, spare=1)
    made.prepare()
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(world):
    made = PageClient(ports.free_port())
    made.program = world.start("--ui=on", f"--metrics-address=127.0.0.1:{made.port}")
    world.wait_ready(made.program)
    return made


@pytest.fixture(scope="module")
def browser(page):
    with Browser() as made:
        yield made
        assert_no_other_hosts(made)


def set_available(world, replicas):
    """What the kubelet of the cluster BROKEN reports about a Deployment of the first module."""
    status = {"readyReplicas": replicas, "availableReplicas": replicas, "conditions": [
        {"type": "Available", "status": "True" if replicas else "False", "reason": "Test", "message": ""}]}
    world.fleet.client(BROKEN).patch(DEPLOYMENTS, world.modules[0], {"status": status}, SYSTEM, "status")


def wait_badge(browser, selector, state):
    browser.wait(f"document.querySelector('{selector}')?.innerText == '{state}'", f"{selector} {state}")


def test_clusters_and_modules_are_shown_by_state_found_and_described(browser, page, world):
    fresh(browser, page)
    wait_total(browser, CLUSTERS)
    wait_state(browser, "Ready", CLUSTERS)
    assert browser.text("#program").lower() == "lifecycle"
    assert browser.run("document.querySelector('#namespace-field').hidden") is True, "clusters have no namespace"
    assert {key.rpartition("/")[2] for key in names(browser)} == {kyma_name(number) for number in range(1, CLUSTERS + 1)}
    browser.press("/")
    browser.type("FLEET-20")
    wait_total(browser, 1)
    browser.click("#rows tr a")
    wait_badge(browser, BADGE, "Ready")
    text = browser.text("#detail")
    for wanted in (kyma_name(20), "regular", "CRDsSync", *world.modules, "1.0.0"):
        assert wanted in text, (wanted, text)
    # From the cluster to one of its modules, and from there to all modules.
    browser.run(f"[...document.querySelectorAll('#detail a')].find((link) => link.innerText.includes('-{world.modules[1]}-')).click()")
    browser.wait("location.hash.includes('kind=modules')")
    browser.wait(f"document.querySelector('#detail h2')?.innerText.includes('{world.modules[1]}')")
    assert f"Module\n{world.modules[1]}" in browser.text("#detail")
    wait_total(browser, CLUSTERS * MODULES)
    wait_state(browser, "Ready", CLUSTERS * MODULES)
    fresh(browser, page, f"#kind=modules&search={world.modules[0]} 1.0")
    wait_total(browser, CLUSTERS)
    # The modules of one cluster.
    fresh(browser, page, f"#kind=modules&namespace={kyma_name(20)}")
    wait_total(browser, MODULES)
    assert browser.text("#namespace-title") == "Cluster"
    wait_state(browser, "Ready", MODULES)
    assert {key.partition("/")[0] for key in names(browser)} == {kyma_name(20)}
    assert browser.all_violations() == []


def test_a_module_that_breaks_is_shown_without_reloading(browser, page, world):
    fresh(browser, page, f"#search={kyma_name(BROKEN)}")
    wait_total(browser, 1)
    browser.run("window.isSamePage = true")
    browser.click("#rows tr a")
    wait_badge(browser, BADGE, "Ready")
    set_available(world, 0)
    wait_badge(browser, "#rows .badge", "Processing")
    wait_badge(browser, BADGE, "Processing")
    wait_state(browser, "Processing", 1)
    wait_state(browser, "Ready", CLUSTERS - 1)
    assert "Modules" in browser.text("#rows tr"), "the condition that is not true"
    browser.click("#kinds button:nth-child(2)")
    fill(browser, "#search", "")
    browser.click("button[data-state=Processing]")
    # The list of clusters had one row as well, so the total does not tell which list is shown.
    wait_until(lambda: [kyma_name(BROKEN) in key and world.modules[0] in key for key in names(browser)] == [True], "the module that is not ready")
    wait_total(browser, 1)
    set_available(world, 1)
    wait_empty(browser)
    wait_state(browser, "Ready", CLUSTERS * MODULES)
    assert browser.run("window.isSamePage") is True


def test_ten_thousand_clusters_are_shown_by_page_and_updated(browser, page, world):
    """They appear while the page is open. It never holds more than one page of them, and never asks for more."""
    fresh(browser, page)
    wait_total(browser, CLUSTERS)
    browser.run("window.isSamePage = true")
    done = load.send(world.fleet.kubeconfig_file(0), [load.request("create", KYMAS, NAMESPACE, body={
        "apiVersion": API, "kind": "Kyma", "metadata": {"name": f"waiting-{load.N}", "namespace": NAMESPACE},
        "spec": {"channel": "fast", "modules": []}})], WAITING)
    assert done["failed"] == 0, done
    wait_total(browser, CLUSTERS + WAITING)
    wait_state(browser, "Error", WAITING)
    assert len(names(browser)) == PAGE_ROWS
    browser.click("#last")
    browser.wait(f"document.querySelector('#range').innerText.endsWith('{CLUSTERS + WAITING:,}')")
    assert len(names(browser)) <= PAGE_ROWS
    browser.press("/")
    browser.type("waiting-77")
    wait_total(browser, sum(str(number).startswith("77") for number in range(WAITING)))
    browser.press("Escape")

    fresh(browser, page, "#search=waiting-4711")
    wait_total(browser, 1)
    browser.click("#rows tr a")
    wait_badge(browser, BADGE, "Error")
    assert "create one with the kubeconfig of the cluster" in browser.text("#detail"), "the solution"
    # The update of one among many: nothing but what is shown is asked for.
    asked = len(browser.requests)
    secret = world.secret(CLUSTERS + 1, world.fleet.kubeconfig(CLUSTERS + 1))
    secret["metadata"]["labels"] = {f"{GROUP}/kyma-name": "waiting-4711"}
    world.kcp.create(secret)
    wait_badge(browser, BADGE, "Ready")
    wait_badge(browser, "#rows .badge", "Ready")
    assert all("/api/v1/row" in url or "/api/v1/overview" in url for url in browser.requests[asked:]), browser.requests[asked:]
    assert page.api("namespaces", kind="modules", search="FLEET", limit=5, offset=1)["total"] == CLUSTERS
    rows = page.api("rows", limit=200, order="name", offset=5000)
    assert rows["total"] == CLUSTERS + WAITING and len(rows["rows"]) == 200
