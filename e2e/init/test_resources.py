# SPDX-License-Identifier: Apache-2.0
"""Memory, processes, sandbox and the output on a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from bench import paths
from bench.oci import Blob, tar_of
from faults.proxy import PASS, Action, FaultProxy
from init import samples
from init.harness import BUILD
from init.parts import (DESCRIPTOR, DESCRIPTOR_JSON, DESCRIPTOR_YAML, blueprint_blob, context, descriptor, dump, push_component,
                        reference, resource)

NAME = "example.com/resources/app"
MIB = 1024 * 1024
# Anonymous memory, without the pages of the program and its libraries: those of a dynamic build take 12 MiB, which are shared with
# other processes; the static program of the image takes 4 MiB.
OWN_MEMORY_MAX = 6 * MIB
# A descriptor of 4 MiB is in memory as text and as a document.
OWN_MEMORY_MAX_WITH_TREE = 32 * MIB


def peak_of(pod, configuration, env=None):
    """Runs init and returns the largest anonymous memory that was observed, in bytes."""
    pod.write("configuration.json", configuration)
    environment = {"PATH": os.environ["PATH"], **pod.env, **(env or {})}
    peak = 0
    with open(pod.directory / "log", "wb") as log:
        process = subprocess.Popen(pod.command(), env=environment, cwd="/", umask=0o022, stderr=log, **pod.identity())
        while process.poll() is None:
            try:
                status = open(f"/proc/{process.pid}/status").read()
            except OSError:
                continue
            time.sleep(0.001)
            for line in re.findall(r"^RssAnon:\s+(\d+) kB", status, re.M):
                peak = max(peak, int(line) * 1024)
    assert process.returncode == 0, (pod.directory / "log").read_text()
    assert peak > 0
    return peak


def heavy(name, size, references=()):
    """A descriptor of about this many bytes as JSON, with realistic resources."""
    entries = [{"name": f"res-{i:06d}", "version": "1.0.0", "type": "ociImage", "relation": "external",
                "access": {"type": "ociArtifact", "imageReference": f"registry.example.com/team/image-{i:06d}:1.0.{i:06d}"},
                "digest": {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": f"f{i:063x}"}}
               for i in range(size // 360)]
    return descriptor(name, references=references, resources=entries)


def written_as_json(body):
    return json.dumps(body).encode()


def written_as_yaml(body):
    """A large descriptor as block YAML, written by hand because the library takes seconds."""
    def flat(mapping, indent):
        return "".join(f"{' ' * indent}{key}: {value}\n" if isinstance(value, str) else
                       f"{' ' * indent}{key}:\n{flat(value, indent + 2)}" for key, value in mapping.items())

    resources = "".join(f"  - {flat(entry, 4).lstrip()}" for entry in body["component"]["resources"])
    head = {**body, "component": {**body["component"], "resources": []}}
    return dump(head).replace(b"  resources: []\n", b"  resources:\n" + resources.encode())


def test_memory_with_4_mib_of_descriptors(as_root, pod, registry):
    names = [f"example.com/resources/c{i}" for i in range(40)]
    client = registry.client()
    for i, name in enumerate(names):
        body = heavy(name, 112_000, [(other, "1.0.0") for other in names[1:]] if i == 0 else [])
        push_component(client, "heavy", body, layer=Blob(written_as_yaml(body), DESCRIPTOR_YAML))
    peak = peak_of(pod, reference(context(f"{registry.url}/heavy"), names[0]))
    assert (pod.shared / "component_descriptor.json").stat().st_size > 4 * MIB
    assert peak <= OWN_MEMORY_MAX, f"{peak / MIB:.1f} MiB"


@pytest.mark.parametrize("form", ["JSON", "YAML", "YAML in a tar"])
def test_memory_with_one_descriptor_of_4_mib(as_root, pod, registry, form):
    body = heavy(NAME, 4 * MIB)
    text = written_as_json(body) if form == "JSON" else written_as_yaml(body)
    assert 4 * MIB - 1000 < len(text) < 4.1 * MIB
    layer = Blob(text, DESCRIPTOR_JSON if form == "JSON" else DESCRIPTOR_YAML)
    if form == "YAML in a tar":
        layer = Blob(tar_of({"component-descriptor.yaml": text}), DESCRIPTOR)
    push_component(registry.client(), "heavy", body, layer=layer)
    peak = peak_of(pod, reference(context(f"{registry.url}/heavy"), NAME))
    assert json.loads((pod.shared / "component_descriptor.json").read_text())["components"] == [body]
    assert peak <= OWN_MEMORY_MAX_WITH_TREE, f"{peak / MIB:.1f} MiB"


def test_memory_does_not_grow_with_a_blob(as_root, pod, registry):
    blob = blueprint_blob({f"file{i}": os.urandom(MIB) for i in range(30)})
    push_component(registry.client(), "heavy", descriptor(NAME, resources=[resource(blob)]), [blob])
    peak = peak_of(pod, reference(context(f"{registry.url}/heavy"), NAME, blueprint="blueprint"))
    assert len(list((pod.shared / "content").iterdir())) == 31
    assert peak <= OWN_MEMORY_MAX, f"{peak / MIB:.1f} MiB"


def test_memory_does_not_grow_with_the_state(as_root, pod):
    files = {f"dir/file{i}": os.urandom(MIB) for i in range(24)}
    directory = samples.mount(pod.inputs / "state", samples.own(files, 1))
    peak = peak_of(pod, {}, {"LONGSHORE_STATE_SOURCE_DIR": str(directory)})
    assert (pod.shared / "state" / "dir" / "file23").read_bytes() == files["dir/file23"]
    assert peak <= OWN_MEMORY_MAX, f"{peak / MIB:.1f} MiB"


def test_init_starts_no_process_and_opens_files_with_cloexec(pod, basic_registry):
    """strace shows one execve, that of init itself, no children except threads, and O_CLOEXEC for every file."""
    blob = blueprint_blob()
    push_component(basic_registry.client(), "traced", descriptor(NAME, resources=[resource(blob)]), [blob])
    pod.pull_secret(basic_registry.host, basic_registry.credentials)
    pod.write("trace", "")
    trace = pod.inputs / "trace"
    trace.chmod(0o666)
    configuration = reference(context(f"{basic_registry.url}/traced"), NAME, blueprint="blueprint")
    pod.run(configuration, wrapper=[paths.installed("strace"), "-f", "-o", trace]).must_succeed()
    calls = trace.read_text()
    assert len(re.findall(r"\bexecve\(", calls)) == 1 and "execveat(" not in calls
    assert not re.findall(r"\b(?:fork|vfork)\(", calls)
    for flags in re.findall(r"\bclone3?\(.*?(?:flags=)([A-Z_|]+)", calls):
        assert "CLONE_THREAD" in flags
    after = calls[calls.index("execve("):]
    own = [line for line in re.findall(r"openat2?\([^\n]*", after) if str(pod.directory) in line]
    assert own and all("O_CLOEXEC" in line or "O_PATH" in line for line in own), own


@pytest.mark.parametrize("program", ["init/longshore-init", "wait/longshore-wait", "deployer/longshore"])
def test_closed_standard_descriptors_are_opened(tmp_path, program):
    """Otherwise the next file that is opened would become stderr and receive the log."""
    trace = tmp_path / "trace"
    subprocess.run([paths.installed("strace"), "-e", "trace=open,openat", "-o", trace,
                    "sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BUILD / program, "--version"], check=True)
    assert trace.read_text().count('"/dev/null"') == 3


def test_the_sandbox_is_active_before_the_first_request(as_root, pod, registry):
    """During the first request init has no_new_privs, a seccomp filter and no capabilities."""
    blob = blueprint_blob({"data": os.urandom(200_000)})
    push_component(registry.client(), "locked", descriptor(NAME, resources=[resource(blob)]), [blob])
    seen = {}

    def look(request):
        if request.number == 0:
            pid = process.pid
            seen.update(re.findall(r"^(\w+):\s+(\S+)", open(f"/proc/{pid}/status").read(), re.M))
        return PASS

    with FaultProxy(registry, look) as proxy:
        pod.write("configuration.json", reference(context(f"{proxy.url}/locked"), NAME, blueprint="blueprint"))
        process = subprocess.Popen(pod.command(), env={"PATH": os.environ["PATH"], **pod.env}, cwd="/",
                                   stderr=subprocess.DEVNULL, **pod.identity())
        assert process.wait(60) == 0
    assert seen["NoNewPrivs"] == "1" and seen["Seccomp"] == "2"
    assert int(seen["CapEff"], 16) == int(seen["CapPrm"], 16) == int(seen["CapInh"], 16) == 0


def run_at_terminal(pod, configuration):
    """Runs init with a pseudo terminal. Returns the exit code and the output."""
    pod.write("configuration.json", configuration)
    primary, secondary = pty.openpty()
    process = subprocess.Popen(pod.command(), env={"PATH": os.environ["PATH"], "TERM": "xterm", **pod.env}, cwd="/",
                               stdin=secondary, stdout=secondary, stderr=secondary, **pod.identity())
    os.close(secondary)
    shown = b""
    while True:
        ready, _, _ = select.select([primary], [], [], 30)
        try:
            data = os.read(primary, 65536) if ready else b""
        except OSError:
            data = b""
        if not data:
            break
        shown += data
    os.close(primary)
    return process.wait(), shown.decode()


def test_a_terminal_shows_progress_and_text(pod, registry):
    blob = blueprint_blob({"data": os.urandom(400_000)})
    push_component(registry.client(), "shown", descriptor(NAME, resources=[resource(blob)]), [blob])
    with FaultProxy(registry, lambda request: Action(trickle=6000) if blob.digest in request.path else PASS) as proxy:
        code, shown = run_at_terminal(pod, reference(context(f"{proxy.url}/shown"), NAME, blueprint="blueprint"))
    assert code == 0, shown
    assert "\rcomponents: 1 of 1" in shown
    assert re.search(r"\rblueprint: \d[\d.]* KiB of \d[\d.]* KiB \(\d+ %\)", shown)
    assert "init finished" in shown and not shown.lstrip().startswith("{")


def test_a_pod_logs_json_without_progress(pod, registry):
    blob = blueprint_blob()
    push_component(registry.client(), "shown", descriptor(NAME, "2.0.0", resources=[resource(blob)]), [blob])
    result = pod.run(reference(context(f"{registry.url}/shown"), NAME, "2.0.0", "blueprint")).must_succeed()
    assert all(line.startswith("{") for line in result.error.splitlines())
    assert "\r" not in result.error
