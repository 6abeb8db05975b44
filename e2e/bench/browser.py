# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, controlled with the DevTools protocol over a pipe. It reaches only loopback addresses."""

import base64
import itertools
import json
import os
import select
import shutil
import time

from bench import paths
from bench.process import Process
from bench.waiting import wait_until

PROGRAM = shutil.which("chromium") or "chromium"
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "/": (191, "/"), "]": (221, "]"), "[": (219, "["), "n": (78, "n")}
ANSWER_SECONDS = 120


class Browser:
    """One tab. Use it as a context manager. Requests, violations of the Content-Security-Policy and script errors are recorded."""

    def __init__(self):
        self._directory = paths.fresh_directory("chromium")
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        for fd in (to_child, from_child):
            os.set_inheritable(fd, True)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                 f"--user-data-dir={self._directory}", "--remote-debugging-pipe", "about:blank"]
        # Chromium reads commands from descriptor 3 and writes to 4. The numbers here may be the same.
        script = f'exec 8<&{to_child} 9>&{from_child}; exec 3<&8 4>&9 8<&- 9>&-; exec "$@"'
        self.process = Process("chromium", ["bash", "-c", script, "chromium", PROGRAM, *flags],
                               env={**os.environ, "HOME": str(self._directory)}, pass_fds=(to_child, from_child))
        os.close(to_child)
        os.close(from_child)
        self._numbers = itertools.count(1)
        self._answers, self._buffer, self._session = {}, b"", None
        self.requests, self.violations, self.errors = [], [], []
        [page] = wait_until(lambda: [t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page"], "a tab")
        self._session = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            self._call(f"{domain}.enable")
        self._call("Page.addScriptToEvaluateOnNewDocument", source="""
            window.violations = [];
            document.addEventListener("securitypolicyviolation", (e) => window.violations.push(e.violatedDirective + " " + e.blockedURI));""")

    def close(self):
        self.process.kill()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- protocol ---

    def _call(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **({"sessionId": self._session} if self._session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_SECONDS
        while number not in self._answers:
            self.process.must_run()
            assert time.monotonic() < deadline, f"no answer to {method}"
            self._read(1)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _read(self, seconds):
        ready, _, _ = select.select([self._in], [], [], seconds)
        if not ready:
            return
        *messages, self._buffer = (self._buffer + os.read(self._in, 1 << 20)).split(b"\0")
        for text in messages:
            self._see(json.loads(text))

    def _see(self, message):
        if "id" in message:
            self._answers[message["id"]] = message
            return
        method, params = message["method"], message["params"]
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Audits.issueAdded" and params["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.violations.append(json.dumps(params["issue"]["details"]))
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])

    # --- the tab ---

    def open(self, address):
        self._call("Page.navigate", url=address)

    def run(self, script):
        """The value of an expression; of a promise, the value that it is resolved with."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def wait(self, script, what=None, timeout=120):
        """Waits until the expression is true, and returns its value."""
        return wait_until(lambda: self.run(script), what or script, timeout)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, key):
        code, text = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text):
        self._call("Input.insertText", text=text)

    def size(self, width, height):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def color_scheme(self, name):
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def all_violations(self):
        """Of the Content-Security-Policy, since the last document was opened."""
        return self.violations + self.run("window.violations")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))
