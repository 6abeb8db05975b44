# SPDX-License-Identifier: Apache-2.0
"""The status page of a controller with ten thousand items, in a headless Chromium. LONGSHORE_SCREENSHOTS=1 writes the pictures of the
documentation; otherwise they only have to exist."""

import base64
import gzip
import hashlib
import itertools
import json
import os
import re
import socket

import pytest

from bench import paths
from bench.apiserver import ApiServer
from bench.browser import Browser
from bench.kube import DEPLOYITEMS
from bench.page_client import SCHEMA, check
from bench.page_view import LARGE, PAGE_ROWS, assert_no_other_hosts, fill, fresh, names, wait_empty, wait_live, wait_state, wait_total
from bench.proc import memory
from bench.waiting import wait_until
from controller_harness import Pod, World, succeed
from page_harness import CANARY, COUNT, FAILED, FINISHED, RUNNING, Page, create_items, part_size

DOCS = paths.CHECKOUT / "docs"
PICTURES = ("status-page.png", "status-page-item.png")
SMALL = (360, 740)


@pytest.fixture(scope="module")
def world():
    """Ten thousand items on an API server of their own, and no controller yet."""
    server = ApiServer()
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    made = World(server, "items")
    create_items(made)
    yield made
    for controller in made.controllers:
        assert controller.stop() in (0, -9), controller.output()[-4000:]
    made.kubelet.close()
    server.close()


@pytest.fixture(scope="module")
def page(world):
    made = Page(world)
    world.kubelet.behaviour = Pod.run
    for number in range(RUNNING):
        world.item(f"cluster-upgrade-{number}", target=None)
    wait_until(lambda: made.states("items")["Progressing"] == RUNNING, "all new items are running")
    return made


@pytest.fixture(scope="module")
def browser(page):
    with Browser() as made:
        yield made
        assert_no_other_hosts(made)


def test_ten_thousand_items_are_listed_by_page_and_searched_on_the_server(browser, page):
    fresh(browser, page)
    wait_total(browser, COUNT)
    assert len(names(browser)) == PAGE_ROWS
    assert browser.text("button[data-state=Failed] b") == str(FAILED)
    assert browser.text("button[data-state=Succeeded] b") == f"{FINISHED - FAILED:,}"
    first = names(browser)
    browser.click("#last")
    browser.wait(f"document.querySelector('#range').innerText.endsWith('{COUNT:,}')")
    assert not set(first) & set(names(browser))
    browser.click("#first")

    browser.press("/")
    browser.type("INGRESS-controller-3-7")
    wait_total(browser, sum(str(number).startswith("7") for number in range(part_size(2500, 3))))
    assert all(name.startswith("team-network/ingress-controller-3-7") for name in names(browser))
    browser.press("Escape")
    fill(browser, "#search", "nothing-like-this")
    wait_empty(browser)

    fresh(browser, page, "#state=Failed,DeleteFailed&search=image-mirror")
    wait_total(browser, 13)
    assert browser.run("document.querySelector('#search').value") == "image-mirror"
    assert browser.run("document.querySelector('button[data-state=Failed]').getAttribute('aria-pressed')") == "true"
    browser.click("button[data-state=Failed]")
    wait_empty(browser)
    assert browser.all_violations() == []


def suggestions(browser):
    return browser.run("[...document.querySelector('#namespaces').options].map((option) => option.value)")


def test_a_namespace_is_chosen_with_the_keyboard_and_remembered_in_the_address(browser, page):
    fresh(browser, page)
    browser.press("n")
    assert browser.run("document.activeElement.id") == "namespace"
    wait_until(lambda: suggestions(browser) == ["items", "team-network", "team-payments", "team-platform"], "all namespaces")
    assert browser.run("document.querySelector('#namespaces option[value=team-platform]').label") == f"{1000 + FAILED:,} items, {FAILED} Failed"
    browser.type("PLAT")
    wait_until(lambda: suggestions(browser) == ["team-platform"], "the only namespace with this text")
    fill(browser, "#namespace", "")
    wait_total(browser, COUNT)
    browser.type("team-platform")
    wait_total(browser, 1000 + FAILED)
    assert browser.run("location.hash") == "#namespace=team-platform"
    assert {name.partition("/")[0] for name in names(browser)} == {"team-platform"}
    # The cards count the namespace. Other filters are added to it.
    wait_state(browser, "Succeeded", 1000)
    wait_state(browser, "Failed", FAILED)
    wait_state(browser, "Progressing", 0)
    fill(browser, "#search", "backup")
    wait_total(browser, 60)
    assert browser.run("location.hash") == "#namespace=team-platform&search=backup"
    fresh(browser, page, "#namespace=team-platform&search=backup")
    wait_total(browser, 60)
    assert browser.run("document.querySelector('#namespace').value") == "team-platform"

    # Enter also takes a name that is not suggested; the way back leads to the choice before.
    browser.run("document.querySelector('#namespace').select()")
    browser.type("nowhere")
    browser.press("Enter")
    wait_empty(browser)
    assert browser.run("location.hash") == "#namespace=nowhere&search=backup"
    browser.run("history.back()")
    wait_total(browser, 60)
    assert browser.run("document.querySelector('#namespace').value") == "team-platform"

    # From an item to everything in its namespace.
    fresh(browser, page, "#open=team-network/dns-zones-0-0")
    browser.wait("document.querySelector('#detail .note a')?.innerText == 'team-network'")
    browser.click("#detail .note a")
    wait_total(browser, 2500 + 1700)
    assert browser.run("location.hash") == "#namespace=team-network"
    assert browser.run("document.querySelector('#detail').hidden") is True
    assert browser.all_violations() == []


def test_one_item_is_described_with_timeline_error_and_facts(browser, page):
    fresh(browser, page, "#state=Failed&search=backup-verify")
    browser.click("#rows tr")
    browser.wait("!document.querySelector('#detail').hidden")
    text = browser.text("#detail")
    for wanted in ("Error in RunMainContainer", "container main: Error, exit code 3", "Cause:", "Solution:", "Timeline of the last job", "pick-up",
                   "scheduling", "init", "main", "wait", "export", "prod-eu-1", "Last runs"):
        assert wanted in text, (wanted, text)
    assert browser.run("document.querySelectorAll('#detail .timeline rect').length") == 5
    fresh(browser, page, "#search=ingress-controller-0-1&open=team-network/ingress-controller-0-1")
    browser.wait("document.querySelector('#detail')?.innerText.includes('apply')")
    assert browser.all_violations() == []


def test_rates_and_durations_are_plotted_as_the_api_reports_them(browser, page):
    fresh(browser, page)
    minutes = page.api("overview")["minutes"]
    busy = [minute for minute in minutes if sum(minute[key] for key in ("succeeded", "failed"))]
    assert busy and not browser.run("document.querySelector('#plots').hidden")
    for name in ("rate", "time"):
        drawn = browser.run(f"[...document.querySelectorAll('#{name}-plot rect')].filter((bar) => Number(bar.getAttribute('height')) > 0).length")
        assert drawn >= len(busy) - 1 > 0, name  # the oldest minute may have left the plot meanwhile
        assert browser.text(f"#{name}-peak"), "the scale"


def test_updates_arrive_without_reloading(browser, page, world):
    fresh(browser, page, "#search=live-update")
    browser.run("window.isSamePage = true")
    world.kubelet.behaviour = Pod.run
    world.item("live-update", target=None)
    browser.wait("document.querySelector('#rows tr[data-key=\"items/live-update\"] .badge')?.innerText == 'Progressing'")
    browser.click("#rows tr")
    browser.wait("document.querySelector('#detail .badge')?.innerText == 'Progressing'")
    pod = wait_until(lambda: next((pod for pod in list(world.kubelet.pods.values()) if pod.item() == ("items", "live-update")), None), "the pod")
    assert pod.finished.wait(60), "the kubelet has reported that it runs"
    pod.succeed()
    browser.wait("document.querySelector('#rows .badge')?.innerText == 'Succeeded'")
    browser.wait("document.querySelector('#detail .badge')?.innerText == 'Succeeded'")
    world.kube.patch(DEPLOYITEMS, "live-update", {"metadata": {"finalizers": None}}, "items")
    world.kube.delete(DEPLOYITEMS, "live-update", "items")
    browser.wait("document.querySelectorAll('#rows tr').length == 0")
    assert browser.run("window.isSamePage") is True


def test_a_change_between_two_streams_is_shown(browser, page, world):
    """The server ends a stream after some minutes. Here the browser takes the next message for its end, and connects again when the test allows it."""
    fresh(browser, page, "#search=between-streams")
    wait_empty(browser)
    browser.run("""(() => {
        const {read} = ReadableStreamDefaultReader.prototype, {fetch} = window;
        ReadableStreamDefaultReader.prototype.read = function () {
            ReadableStreamDefaultReader.prototype.read = read;
            return Promise.resolve({done: true});
        };
        window.fetch = async (url, options) => {
            if (url.endsWith("/events")) await new Promise((connect) => { window.reconnect = connect; });
            return fetch(url, options);
        }; })()""")
    world.item("between-streams-1", job=None)
    browser.wait("window.reconnect !== undefined")
    browser.wait("document.querySelectorAll('#rows tr').length == 1")
    world.item("between-streams-2", job=None)
    wait_until(lambda: page.api("rows", search="between-streams")["total"] == 2, "the controller has seen the second item")
    assert len(names(browser)) == 1
    browser.run("window.reconnect()")
    browser.wait("document.querySelectorAll('#rows tr').length == 2")
    for name in ("between-streams-1", "between-streams-2"):
        world.kube.patch(DEPLOYITEMS, name, {"metadata": {"finalizers": None}}, "items")
        world.kube.delete(DEPLOYITEMS, name, "items")
    browser.wait("document.querySelectorAll('#rows tr').length == 0")


def test_the_page_is_used_with_the_keyboard(browser, page):
    fresh(browser, page, "#state=Failed")
    focus = "document.activeElement.closest('tr')?.dataset.key ?? document.activeElement.id"
    browser.press("/")
    assert browser.run(focus) == "search"
    browser.press("ArrowDown")
    listed = names(browser)
    assert browser.run(focus) == listed[0]
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    browser.press("ArrowUp")
    assert browser.run(focus) == listed[1]
    browser.press("Enter")
    browser.wait("document.activeElement.id == 'detail'")
    assert listed[1].partition("/")[2] in browser.text("#detail h2")
    browser.press("Escape")
    browser.wait("document.querySelector('#detail').hidden")
    assert browser.run(focus) == listed[1]
    browser.press("]")
    browser.wait("document.querySelector('#range').innerText.startsWith('51 ')")
    browser.press("[")
    browser.wait("document.querySelector('#range').innerText.startsWith('1 ')")
    # Everything that can be used has a name for screen readers, and a visible focus.
    unnamed = """[...document.querySelectorAll('button, a, input, select')].filter((e) => e.checkVisibility() &&
        !(e.innerText || e.getAttribute('aria-label') || e.labels?.length)).map((e) => e.outerHTML)"""
    assert browser.run(unnamed) == []
    browser.press("Tab")
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_are_readable_in_both_color_schemes_and_at_360_pixels(browser, page, scheme):
    contrast = """(() => {
        const rgb = (text) => text.match(/[0-9.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const back = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] !== 0) return c; } };
        const poor = [];
        for (const e of document.querySelectorAll('body *')) {
            const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
            if (!own || !e.checkVisibility() || e.disabled || e.closest('svg')) continue;
            const [a, b] = [light(rgb(getComputedStyle(e).color)), light(back(e))].sort((x, y) => y - x);
            if ((a + 0.05) / (b + 0.05) < 4.5) poor.push([e.outerHTML.slice(0, 80), ((a + 0.05) / (b + 0.05)).toFixed(2)]);
        }
        return poor; })()"""
    backgrounds = {"light": "rgb(244, 246, 250)", "dark": "rgb(14, 19, 27)"}
    for size, fragment in itertools.product((LARGE, SMALL), ("#state=Failed", "#state=Succeeded&search=dns", "#state=Progressing")):
        fresh(browser, page, fragment, size, scheme)
        assert browser.run("getComputedStyle(document.body).backgroundColor") == backgrounds[scheme]
        assert browser.run(contrast) == []
        assert browser.run("document.documentElement.scrollWidth") <= size[0]
        browser.click("#rows tr a")
        browser.wait("!document.querySelector('#detail').hidden")
        assert browser.run(contrast) == []
        assert browser.run("document.documentElement.scrollWidth") <= size[0]
        assert browser.run("document.querySelector('#detail').scrollWidth - document.querySelector('#detail').clientWidth") <= 0
    assert browser.all_violations() == []


def take(browser, name):
    if os.environ.get("LONGSHORE_SCREENSHOTS"):
        browser.screenshot(DOCS / name)
    assert (DOCS / name).stat().st_size < 180_000


def test_the_pictures_of_the_documentation(browser, page):
    fresh(browser, page, "", (1180, 720))
    wait_total(browser, COUNT)
    take(browser, PICTURES[0])
    fresh(browser, page, "#state=Failed&search=backup", (1180, 820), "dark")
    browser.click("#rows tr a")
    browser.wait("!document.querySelector('#detail').hidden")
    take(browser, PICTURES[1])


def test_nothing_of_imports_exports_and_logs_is_served(page):
    for parameters in ({"name": "backup-verify-0-0", "namespace": "team-platform"}, {"name": "dns-zones-0-0", "namespace": "team-network"},
                       {"name": "ingress-controller-0-0", "namespace": "team-network"}):
        document = page.api("row", **parameters)
        assert document["facts"] and document["timeline"]
        assert CANARY not in json.dumps(document)
    seen = []
    for offset in range(0, COUNT, 200):
        document = page.api("rows", limit=200, offset=offset, order="name")
        assert CANARY not in json.dumps(document)
        seen += [(row["namespace"], row["name"]) for row in document["rows"]]
    assert len(set(seen)) == len(seen) >= COUNT and seen == sorted(seen), "pages neither overlap nor leave anything out"
    assert CANARY not in json.dumps(page.api("overview"))


def export_canary(pod):
    pod.run()
    pod.save_state({"state": CANARY.encode()})
    pod.export({"password": CANARY})
    pod.succeed()


def test_nothing_of_a_run_with_secrets_is_served(browser, page, world):
    """Imports, the Secret of a Target, state and exports of a job that the controller has executed."""
    world.secret("access", {"kubeconfig": json.dumps({
        "apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"token": CANARY}}]})})
    world.target("secret-target", secret="access", key="kubeconfig")
    world.kubelet.behaviour = export_canary
    world.item("with-secrets", target="secret-target", config={"importValues": {"password": CANARY}})
    status = world.finished("with-secrets")
    assert status["phase"] == "Succeeded"
    assert CANARY in json.dumps({key: base64.b64decode(value).decode() for key, value in world.kube.get(
        "secrets", status["exportRef"]["name"], "items")["data"].items()}), "the export contains it"
    wait_until(lambda: page.api("row", namespace="items", name="with-secrets")["row"]["state"] == "Succeeded", "the page shows the end of the job")
    fresh(browser, page, "#namespace=items&open=items/with-secrets")
    browser.wait("document.querySelector('#detail .badge')?.innerText == 'Succeeded'")
    shown = [browser.run("document.documentElement.outerHTML"), first_update(page)]
    shown += [page.get(f"api/v1/{path}", **parameters)[2].decode() for path, parameters in (
        ("overview", {}), ("rows", {"namespace": "items"}), ("namespaces", {}), ("row", {"namespace": "items", "name": "with-secrets"}))]
    assert all("with-secrets" in text for text in (shown[0], shown[3], shown[5]))
    assert [text for text in shown if CANARY in text] == []
    world.kube.patch(DEPLOYITEMS, "with-secrets", {"metadata": {"finalizers": None}}, "items")
    world.kube.delete(DEPLOYITEMS, "with-secrets", "items")


def first_update(page):
    """The first event of a stream, which is as the schema says."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as client:
        client.sendall(b"GET /ui/api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        text = ""
        while not (found := re.search("event: update\ndata: (.*)\n\n", text)):
            text += client.recv(65536).decode()
    check(json.loads(found.group(1)), "update")
    return text


def test_answers_have_every_member_that_is_documented(page):
    """Of a controller: objects that are related to others are those of registrations and lifecycle. Every answer is compared with the schema."""
    page.api("namespaces", search="team", limit=2, offset=1)
    first_update(page)
    rows = [page.api("rows", **{"limit": 1, **more})["rows"][0] for more in (
        {}, {"state": "Failed", "search": "backup"}, {"namespace": "team-network", "type": "container"})]
    details = [page.api("row", kind="items", namespace=row["namespace"], name=row["name"]) for row in rows]
    assert {key for row in rows for key in row} == set(SCHEMA["$defs"]["oneRow"]["properties"])
    documented = SCHEMA["$defs"]["detail"]["properties"]
    assert {key for detail in details for key in detail} == set(documented) - {"related", "relatedTitle"}
    for part in ("timeline", "conditions", "runs"):
        seen = {key for detail in details for entry in detail[part] for key in entry}
        assert seen == set(documented[part]["items"]["properties"]), part
    assert {key for detail in details for key in detail.get("error", ())} == set(documented["error"]["properties"])
    overview = page.api("overview")
    assert set(overview) == set(SCHEMA["$defs"]["overview"]["properties"])
    assert set(overview["kinds"][0]) == set(SCHEMA["$defs"]["overview"]["properties"]["kinds"]["items"]["properties"])


def test_the_headers_forbid_everything_that_the_page_does_not_need(page):
    for path in ("", "api/v1/overview", "api/v1/rows", "api/v1/namespaces", "api/v1/row", "nothing"):
        _, headers, body = page.get(path)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ") and policy.endswith("frame-ancestors 'none'") and "unsafe" not in policy and "*" not in policy
        hashes = [re.escape(base64.b64encode(hashlib.sha256(text).digest()).decode())
                  for tag in (b"script", b"style") for text in re.findall(rb"<%s[^>]*>(.*?)</%s>" % (tag, tag), body, re.S)]
        if path:
            assert policy == "default-src 'none'; frame-ancestors 'none'" and hashes == []
        else:
            assert re.search("; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; ".format(*hashes), policy)
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert page.get("api/v1/overview", headers={"Host": "attacker.example"})[0] == 403


def test_large_answers_are_compressed_for_clients_that_accept_it(page):
    for path, parameters in (("", {}), ("api/v1/rows", {"limit": 200, "order": "name"})):
        _, headers, plain = page.get(path, **parameters)
        assert "Content-Encoding" not in headers and headers["Vary"] == "Accept-Encoding"
        _, headers, packed = page.get(path, {"Accept-Encoding": "br, gzip;q=0.5"}, **parameters)
        assert headers["Content-Encoding"] == "gzip" and headers["Vary"] == "Accept-Encoding"
        assert len(packed) < len(plain) / 2 and gzip.decompress(packed) == plain
        print(f"/ui/{path}: {len(plain)} bytes, {len(packed)} with gzip")
        assert page.get(path, {"Accept-Encoding": "gzip;q=0"}, **parameters)[2] == plain


def test_many_and_slow_clients_neither_block_the_controller_nor_grow_its_memory(page, world):
    before = memory(page.controller.pid)["VmRSS"]
    clients = []
    for _ in range(40):
        client = socket.create_connection(("127.0.0.1", page.port))
        client.sendall(b"GET /ui/api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        clients.append(client)  # which never reads
    refused = [client for client in clients if b" 429 " in client.recv(40)]
    assert 24 <= len(refused) <= 40, "at most 16 streams"
    world.kubelet.behaviour = succeed
    world.item("among-clients", target=None)
    assert world.finished("among-clients")["phase"] == "Succeeded"
    assert page.get("api/v1/overview")[0] in (200, 429)
    assert memory(page.controller.pid)["VmRSS"] - before < 8 * 2**20
    for client in clients:
        client.close()


def test_a_lost_connection_is_shown_and_restored(browser, page, world):
    fresh(browser, page, "#search=lost")
    browser.wait("document.querySelector('#link').dataset.state == 'live'")
    page.controller.kill()
    browser.wait("!document.querySelector('#lost').hidden")
    assert "connection is lost" in browser.text("#lost") and browser.text("#link") == "Connection lost"
    assert browser.run("document.querySelector('#lost').getAttribute('role')") == "alert"
    world.item("lost-and-found", job=None)
    page.restart()
    browser.click("#retry")
    browser.wait("document.querySelector('#lost').hidden && document.querySelector('#link').dataset.state == 'live'")
    browser.wait("document.querySelector('#rows tr')?.dataset.key == 'items/lost-and-found'")


def test_the_browser_executes_nothing_but_the_script_of_the_document(browser, page):
    """After all tests that look for violations: those that it causes are recorded. The next test ends this controller."""
    fresh(browser, page)
    assert browser.all_violations() == [] and browser.errors == []
    asked = browser.requests[len(browser.requests) - browser.requests[::-1].index(page.address) - 1:]
    paths_asked = {url.partition("?")[0].removeprefix(page.address) for url in asked}
    assert paths_asked == {"", "api/v1/overview", "api/v1/rows", "api/v1/events"}, "one document, and the API"
    assert browser.run("(([load]) => load.encodedBodySize < load.decodedBodySize / 2)(performance.getEntriesByType('navigation'))"), "gzip"
    browser.run("""(() => {
        const add = (name, fields) => document.body.append(Object.assign(document.createElement(name), fields));
        add("script", {textContent: "window.isExecuted = true"});
        add("script", {src: "api/v1/overview"});
        add("script", {src: "http://127.0.0.1:1/script.js"});
        add("div", {innerHTML: "<img src='data:,' onerror='window.isExecuted = true'>"});
        add("style", {textContent: "body { display: none }"});
        add("p", {innerHTML: "<b style='color: red'></b>"});
        add("img", {src: "http://127.0.0.1:1/picture.png"});
        add("iframe", {src: "about:blank#framed", srcdoc: "<script>parent.isExecuted = true</" + "script>"});
        add("base", {href: "http://127.0.0.1:1/"});
        fetch("http://127.0.0.1:1/data").catch(() => {});
        const form = Object.assign(document.createElement("form"), {action: "http://127.0.0.1:1/form", method: "post"});
        document.body.append(form);
        form.submit(); })()""")
    for directive in ("script-src-elem inline", "script-src-elem http://127.0.0.1:1/script.js", f"script-src-elem {page.address}api/v1/overview",
                      "script-src-attr inline", "style-src-elem inline", "style-src-attr inline", "img-src http://127.0.0.1:1/picture.png",
                      "base-uri http://127.0.0.1:1", "connect-src http://127.0.0.1:1/data", "form-action http://127.0.0.1:1/form"):
        browser.wait(f"window.violations.some((text) => text.startsWith('{directive}'))", directive)
    assert browser.run("window.isExecuted") is None
    assert browser.run("getComputedStyle(document.body).display") == "block"


def test_with_authentication_the_page_needs_a_token_with_permission(browser, world):
    guarded = Page(world, namespaces=["items"], authentication=True)
    allowed, denied = (world.apiserver.service_account(name, "items") for name in ("viewer", "stranger"))
    world.kube.allow("items:viewer", [{"apiGroups": ["landscaper.gardener.cloud"], "resources": ["deployitems"], "verbs": ["list"]}],
                     kind="ServiceAccount", name="page-viewer")
    for token, status in ((None, 401), ("nonsense", 401), (denied, 403), (allowed, 200), (allowed, 200)):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for path in ("overview", "rows", "events"):
            if path != "events" or status != 200:
                assert guarded.get(f"api/v1/{path}", headers)[0] == status, (token, path)
    assert guarded.get("", {"Host": "longshore.example"})[0] == 200, "files have no data; names are fine with tokens"
    mark = world.apiserver.audit.mark()
    assert guarded.get("api/v1/overview", {"Authorization": f"Bearer {allowed}"})[0] == 200
    assert world.apiserver.audit.count(mark, verb="create", resource="tokenreviews") == 0, "cached"

    browser.open(guarded.address)
    browser.wait("document.querySelector('#login') && !document.querySelector('#login').hidden")
    for token, message in ((denied, "permission"), ("nonsense", "valid bearer token")):
        browser.run("document.querySelector('#token').focus()")
        browser.type(token)
        browser.press("Enter")
        browser.wait(f"document.querySelector('#login-text').innerText.includes('{message}')")
        assert browser.run("sessionStorage.getItem('token')") is None
    browser.type(allowed)
    browser.press("Enter")
    wait_live(browser)
    assert browser.run("document.querySelector('#login').hidden") is True
    assert allowed not in guarded.controller.output()


def test_without_the_setting_there_is_no_page_and_with_it_an_item_costs_less_than_half_a_kilobyte(page, world):
    off = Page(world, enabled=False)
    assert off.get("")[0] == 404 and off.get("api/v1/overview")[0] == 404
    print(f"RSS {page.first_memory / 2**20:.1f} MiB with a page, {off.first_memory / 2**20:.1f} MiB without")
    # Besides the rows: the history of 4096 runs, of which those of the last hour are known from the start.
    assert page.first_memory - off.first_memory < COUNT * 512 + 2 * 2**20
