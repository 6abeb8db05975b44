# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the components of the test bench. Each starts when a test first uses it and stops at the end of the run."""

import atexit
import os
import pathlib
import re
import signal
import threading

import pytest

from bench import images, leftovers, paths, process
from bench.apiserver import ApiServer
from bench.kube import CONTEXTS, DEPLOYITEMS, SYNCOBJECTS, TARGETS, ApiError
from bench.node import Node
from bench.registry import Registry


# --- reports of failed tests, and the end of a run -------------------------------------------------------------------

@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    process.mark_test_begin()
    yield


# The folders of the lanes of e2e/run, chosen so that all take about as long; other folders are in the lane "rest".
LANE_FOLDERS = {
    "api": ("api/controller", "api/kube_client", "api/render", "faults"),
    "services": ("api/agent", "api/fleet", "api/helm", "api/lifecycle", "api/page", "api/registrations"),
}


def pytest_collection_modifyitems(items):
    here = pathlib.Path(__file__).resolve().parent
    for item in items:
        for lane, folders in LANE_FOLDERS.items():
            if any(item.path.is_relative_to(here / folder) for folder in folders):
                item.add_marker(lane)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    used = getattr(item, "funcargs", {})
    if report.when == "call" and "node_namespace" in used:
        try:
            report.sections.append((f"namespace {used['node_namespace']}", used["node"].describe(used["node_namespace"])))
        except (OSError, ApiError) as error:  # the test may have broken the API server
            report.sections.append(("namespace", f"not available: {error}"))
    report.sections.extend(process.log_tails())


def pytest_sessionstart(session):
    # A job that a shell started in the background ignores SIGINT, and so would every program that a test interrupts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    leftovers.clean()


def pytest_sessionfinish(session):
    process.stop_all()
    session.config.stash[EXIT_STATUS] = session.exitstatus


EXIT_STATUS = pytest.StashKey()


def pytest_unconfigure(config):
    """Exits even if a failed test left a non-daemon thread running, for which Python would wait forever."""
    left = [thread.name for thread in threading.enumerate() if not thread.daemon and thread is not threading.main_thread()]
    if left and EXIT_STATUS in config.stash:
        print(f"a test left these threads running: {', '.join(left)}", flush=True)
        atexit._run_exitfuncs()
        os._exit(config.stash[EXIT_STATUS])


# --- Kubernetes ------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def apiserver():
    """An API server with our CRDs, shared by all tests that do not stop or break it."""
    server = ApiServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def controllers(apiserver):
    """kube-controller-manager for the shared API server."""
    return apiserver.controllers()


@pytest.fixture
def make_apiserver():
    """make_apiserver(flags=[...]): API servers for this test only, which it may break or configure."""
    servers = []

    def make(**options):
        servers.append(ApiServer(**options))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def private_apiserver(make_apiserver):
    """An API server for this test only, which it may stop, kill or compact."""
    return make_apiserver()


@pytest.fixture
def kube(apiserver):
    """A client of the shared API server with all permissions."""
    return apiserver.kube


_namespaces = 0


def _namespace_name(request):
    global _namespaces
    _namespaces += 1
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-") + f"-{_namespaces}"


def _make_namespace(kube, name):
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _empty_namespace(kube, name):
    """Removes everything that the deployer of a later test would process, with or without finalizers, then the namespace."""
    for resource in (DEPLOYITEMS, TARGETS, CONTEXTS, SYNCOBJECTS, "pods"):
        for thing in kube.items(resource, name):
            try:
                if thing["metadata"].get("finalizers"):
                    kube.patch(resource, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, name)
                kube.delete(resource, thing["metadata"]["name"], name, gracePeriodSeconds=0)
            except ApiError as error:
                if error.status != 404:
                    raise
    kube.delete("namespaces", name)


@pytest.fixture
def namespace(kube, request):
    """The name of a new namespace of the shared API server."""
    name = _namespace_name(request)
    _make_namespace(kube, name)
    yield name
    _empty_namespace(kube, name)


# --- registries ------------------------------------------------------------------------------------------------------

def _registry(**options):
    @pytest.fixture(scope="session")
    def fixture():
        running = Registry(**options)
        yield running
        running.close()
    return fixture


registry = _registry()
basic_registry = _registry(auth="basic")
token_registry = _registry(auth="token")
tls_registry = _registry(tls=True)


# --- the whole node --------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def node():
    """A node with all components (needs root). If root is missing, the tests fail; they are never skipped."""
    running = Node(paths.run_directory() / "node")
    running.load(images.busybox(), images.BUSYBOX)
    yield running
    running.close()


@pytest.fixture
def node_namespace(node, request):
    """The name of a new namespace on the node, with its default ServiceAccount."""
    node.heal()
    name = _namespace_name(request)
    _make_namespace(node.kube, name)
    node.kube.wait_for("serviceaccounts", "default", bool, name)
    yield name
    _empty_namespace(node.kube, name)
