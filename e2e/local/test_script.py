# SPDX-License-Identifier: Apache-2.0
"""Script items on one machine, and the examples of the documentation."""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import threading

import pytest
import yaml

from local.conftest import ROOT, Result, item, shell

EXAMPLES = ROOT / "e2e/examples"


def script(text, name="test", **config):
    """A DeployItem of the script type."""
    document = item(name, script=text, **config)
    document["spec"]["type"] = "landscaper.gardener.cloud/script"
    document["spec"]["config"]["apiVersion"] = "script.deployer.landscaper.gardener.cloud/v1alpha1"
    return document


def command(local, *arguments):
    done = subprocess.run(local.command(*arguments), cwd=local.home, text=True, timeout=60, capture_output=True,
                          env=local.environment())
    return Result(done.returncode, done.stdout, done.stderr)


# --- script and files ------------------------------------------------------------------------------------------------

def test_script_is_a_read_only_file_and_the_kernel_starts_it(local):
    result = local.run_item(script(
        "#!/bin/sh\n"
        "{ echo \"files: '$(stat -c '%a %g %n' $0 ${0%/*}/lib.sh | tr '\\n' ' ')'\"\n"
        "  echo \"process: $$\"; echo \"arguments: '$(tr '\\0' ' ' < /proc/$$/cmdline)'\"\n"
        "  . ${0%/*}/lib.sh\n"
        "  echo \"mount: $(awk '$5 == \"/data/ls/script\" { split($6, option, \",\"); print option[1] }' /proc/self/mountinfo)\"\n"
        "  echo \"elsewhere: $(env | grep -c MARK_OF_THE_SCRIPT)\"\n"
        "} > $EXPORTS_PATH\n", files={"lib.sh": "echo 'lib: sourced'\n"}, args=["one", "two words"]))
    assert result.code == 0, result
    assert result.data["exports"] == {
        "files": "555 2000 /data/ls/script/script 555 2000 /data/ls/script/lib.sh ",
        "process": 1, "arguments": "/bin/sh /data/ls/script/script one two words ", "lib": "sourced",
        "mount": "ro", "elsewhere": 0}


SAY = 'echo "started: \'$(tr "\\0" " " < /proc/$$/cmdline)\'" > $EXPORTS_PATH\n'


@pytest.mark.parametrize("text, interpreter, started", [
    (SAY, None, "/bin/sh"),
    ("#!/bin/busybox sh\n" + SAY, None, "/bin/busybox sh"),
    ("#!/bin/nonsense\n" + SAY, "/bin/sh", "/bin/sh"),
    (SAY, ["/bin/sh", "-eu"], "/bin/sh -eu"),
], ids=["default", "first-line", "text", "list"])
def test_interpreter(local, text, interpreter, started):
    result = local.run_item(script(text, **({"interpreter": interpreter} if interpreter else {})))
    assert result.code == 0, result
    assert result.data["exports"] == {"started": f"{started} /data/ls/script/script "}


def test_script_size_limit(local):
    text = "echo size: $(wc -c < $0) > $EXPORTS_PATH\nexit\n"
    text += "#" * (512 * 1024 - len(text))
    result = local.run_item(script(text))
    assert result.code == 0 and result.data["exports"] == {"size": 512 * 1024}, result
    refused = local.run_item(script(text + "#"))
    assert refused.code == 2 and "script: Too long: must not exceed 512 KiB" in refused.err
    assert "####" not in refused.err


def test_historical_variable_names_exist_for_both_types(local):
    probe = '[ "$EXPORT_PATH" = "$EXPORTS_PATH" ] && [ "$STATE" = "$STATE_PATH" ] && echo "state: $STATE" > $EXPORT_PATH\n'
    for document in (script(probe, "as-script"), shell(probe, "as-container")):
        result = local.run_item(document)
        assert result.code == 0 and result.data["exports"] == {"state": "/data/ls/shared/state"}, result


def test_script_is_never_printed(local):
    secret = "canary-of-the-script"
    config = {"files": {"lib.sh": f": {secret}\n"}}
    for text, more, code in ((f": {secret}\n", {}, 0), (f": {secret}\nexit 3\n", {}, 3), (f"#!/nowhere {secret}\n", {}, 127),
                             (f": {secret}\n", {"env": [{"name": "STATE", "value": "x"}]}, 2)):
        result = local.run_item(script(text, **config, **more), "-v")
        assert result.code == code, result
        assert secret not in result.out + result.err
    wrong = local.documents(script([secret], files={"a": [secret]}))
    for verb in ("validate", "render", "run"):
        told = command(local, verb, wrong)
        assert told.code == 2 and "script: expected a string, got a list" in told.out + told.err, told
        assert secret not in told.out + told.err


def test_mistakes_in_a_script_item_are_reported_before_anything_runs(local):
    wrong = script("true", interpreter=[], command=["sh"], files={"../up": "", "script": ""})
    result = local.run(local.documents(wrong))
    assert result.code == 2
    for path in ("interpreter", "command", 'files."../up"', "files.script"):
        assert f"{path}: " in result.err, result


def test_validate_and_render_know_the_type(local):
    good = local.documents(script("#!/bin/sh\n", files={"a": "b"}))
    assert command(local, "validate", good).code == 0
    made = list(yaml.safe_load_all(command(local, "render", good).out))
    [pod] = [thing for thing in made if thing["kind"] == "Pod"]
    [main] = [container for container in pod["spec"]["containers"] if container["name"] == "main"]
    assert (main["image"], main["command"]) == ("alpine:3", ["/data/ls/script/script"])
    configured = local.write("config.yaml", "script: {image: 'tools:1', command: [/bin/ash, -e]}\n")
    plain = local.documents(script("true"), name="plain.yaml")
    [pod] = [thing for thing in yaml.safe_load_all(command(local, "render", plain, "--config", configured).out) if thing["kind"] == "Pod"]
    [main] = [container for container in pod["spec"]["containers"] if container["name"] == "main"]
    assert (main["image"], main["command"]) == ("tools:1", ["/bin/ash", "-e", "/data/ls/script/script"])


# --- the examples ----------------------------------------------------------------------------------------------------

class Harbour(http.server.ThreadingHTTPServer):
    """The API of the examples: GET /ships/NAME, POST /berths, DELETE /berths/ID, with a token."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.berths = {}
        self.calls = []


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, code, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def call(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        if self.headers["Authorization"] != "Bearer the-harbour-masters":
            return self.answer(401)
        self.server.calls.append(f"{self.command} {self.path}")
        if self.command == "GET" and self.path.startswith("/ships/"):
            return self.answer(200, {"ship": self.path.rpartition("/")[2], "berth": 7, "draught": 9.5})
        if self.command == "POST":
            number = f"b{len(self.server.berths) + 1}"
            self.server.berths[number] = body["ship"]
            return self.answer(201, {"id": number})
        if self.server.berths.pop(self.path.rpartition("/")[2], None) is None:
            return self.answer(404)
        return self.answer(204)

    do_GET = do_POST = do_DELETE = call

    def log_message(self, *_):
        pass


@pytest.fixture
def harbour():
    with Harbour() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def python_image():
    """A root file system with the python3 of this machine, so that no image has to be pulled."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="longshore-python-"))
    root.chmod(0o755)
    programs = ["/usr/bin/python3", "/usr/bin/env"]
    library = sysconfig.get_path("stdlib")
    modules = map(str, pathlib.Path(library).glob("lib-dynload/_ctypes.*.so"))
    linked = subprocess.run(["ldd", *programs, *modules], check=True, capture_output=True, text=True).stdout
    for file in {*programs, *re.findall(r"(/\S+) \(0x", linked)}:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    shutil.copytree(library, root / library[1:], symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__", "config-*", "test", "idlelib", "lib2to3", "*-packages", "ensurepip"))
    yield f"rootfs:{root}"
    shutil.rmtree(root)


def example(local, name, image, *arguments, url=""):
    """Runs an example with the address of the test API and another image, so that nothing has to be pulled."""
    text = (EXAMPLES / name / "item.yaml").read_text().replace("https://harbour.example/api", url)
    return local.run(local.write(f"{name}.yaml", text), "--image", image, "-o", "json", *arguments)


def test_rest_example_uses_the_targets_token_and_exports_a_field(local, harbour, python_image):
    result = example(local, "script-rest", python_image, url=harbour.url)
    assert result.code == 0, result
    assert result.data["exports"] == {"berth": 7}
    assert harbour.calls == ["GET /ships/Albatross"]
    assert "main | Albatross lies at 7" in result.err
    assert "the-harbour-masters" not in result.out + result.err


def test_main_can_not_create_namespaces(local, python_image):
    """clone() with a namespace flag is denied, clone3() does not exist: as with containerd's default profile."""
    program = ("import ctypes, json, os\n"
               "libc = ctypes.CDLL(None, use_errno=True)\n"
               "clone = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
               "seen = {}\n"
               "for flag in (0, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):\n"
               "    pid = libc.syscall(clone, flag | 17, 0, 0, 0, 0)\n"
               "    if pid == 0:\n"
               "        os._exit(0)\n"
               "    seen[hex(flag)] = 'allowed' if pid > 0 else os.strerror(ctypes.get_errno())\n"
               "libc.syscall(435, 0, 0)\n"
               "seen['clone3'] = os.strerror(ctypes.get_errno())\n"
               "json.dump(seen, open(os.environ['EXPORTS_PATH'], 'w'))\n")
    result = local.run_item(script(program, interpreter="/usr/bin/python3", image=python_image))
    assert result.code == 0, result
    seen = result.data["exports"]
    assert (seen.pop("0x0"), seen.pop("clone3")) == ("allowed", "Function not implemented"), result
    assert set(seen.values()) == {"Operation not permitted"}, seen


def test_counter_example_counts_in_the_state(local):
    for runs in (1, 2, 3):
        result = example(local, "script-counter", f"oci-archive:{local.image}")
        assert result.code == 0 and result.data["exports"] == {"runs": runs}, result


def test_cleanup_example_gives_back_on_delete_what_it_booked(local, harbour, python_image):
    for _ in range(2):
        result = example(local, "script-cleanup", python_image, url=harbour.url)
        assert result.code == 0 and result.data["exports"] == {"booking": "b1"}, result
    assert harbour.berths == {"b1": "Albatross"}, "booked once, however often it is deployed"
    result = example(local, "script-cleanup", python_image, "--operation", "DELETE", url=harbour.url)
    assert result.code == 0 and result.data["phase"] == "Succeeded", result
    assert harbour.berths == {} and harbour.calls == ["POST /berths", "DELETE /berths/b1"]
    assert not list((local.state_of("booking") / "state").iterdir())


def test_cleanup_example_accepts_that_the_berth_is_gone(local, harbour, python_image):
    assert example(local, "script-cleanup", python_image, url=harbour.url).code == 0
    harbour.berths.clear()
    result = example(local, "script-cleanup", python_image, "--operation", "DELETE", url=harbour.url)
    assert result.code == 0 and harbour.calls[-1] == "DELETE /berths/b1", result


@pytest.mark.parametrize("name", ["script-rest", "script-counter", "script-cleanup"])
def test_documentation_shows_the_examples_unchanged(name):
    text = (ROOT / "docs/script-items.md").read_text()
    shown = re.search(rf"<!-- {name} -->\n```yaml\n(.*?)```\n", text, re.S).group(1)
    config = yaml.safe_load(next(iter((EXAMPLES / name / "item.yaml").read_text().split("---\n"))))["spec"]["config"]
    assert yaml.safe_load(shown) == {key: value for key, value in config.items() if key not in ("apiVersion", "kind")}


def test_configurations_in_the_documentation_are_valid(local):
    """Every example in docs/provider-configuration.md is valid, without warnings."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/provider-configuration.md").read_text(), re.S)
    for config in map(yaml.safe_load, blocks):
        document = item()
        document["spec"] = {"type": f"landscaper.gardener.cloud/{config['apiVersion'].partition('.')[0]}", "config": config}
        result = command(local, "validate", local.documents(document), "-o", "json")
        assert result.code == 0 and (result.data["errors"], result.data["warnings"]) == (0, 0), result
    assert len(blocks) == 2
