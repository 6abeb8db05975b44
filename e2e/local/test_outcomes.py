# SPDX-License-Identifier: Apache-2.0
"""Every way to end is explained, and with -o json there is exactly one object, which the published schema describes (Result
checks it)."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from bench import images, oci
from bench.terminal import Terminal, plain
from bench.waiting import wait_until
from local.conftest import Result, end, item, shell, wait_for_line, wait_gone
from local.test_script import script

GOOD = "echo a: 1 > $EXPORTS_PATH"


@contextlib.contextmanager
def silent_registry():
    """A server that accepts connections and never answers; the address of its image."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}/some/image:1"


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def busybox(local):
    return f"oci-archive:{local.image}"


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def has_handler(pid, number):
    """Whether the process handles the signal itself."""
    mask = re.search(r"^SigCgt:\s*(\w+)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE).group(1)
    return bool(int(mask, 16) >> (number - 1) & 1)


# --- one object, whatever happens ------------------------------------------------------------------------------------

def test_usage_errors_have_a_result_and_exit_code_2(local):
    local.documents(shell(GOOD, image=busybox(local)))
    local.documents({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}, name="no-item.yaml")
    local.documents(shell(GOOD, image="example.com/UPPER"), name="wrong.yaml")
    local.write("file", "")
    for arguments, complaint in (
            (["item.yaml", "--nonsense"], '"--nonsense" is unknown'), (["item.yaml", "--opration", "DELETE"], "did you mean '--operation'?"),
            (["item.yaml", "--runtime", "podman"], "must be crun or runc"), (["item.yaml", "--shell"], "--shell and --output json"),
            ([], "nothing to run"), (["absent.yaml"], "absent.yaml"), (["item.yaml", "--target", "absent.yaml"], "absent.yaml"),
            (["item.yaml", "--imports", "absent.yaml"], "--imports"), (["item.yaml", "--config", "absent.yaml"], "absent.yaml"),
            (["no-item.yaml"], "no DeployItem"), (["wrong.yaml"], "spec.config.image"), (["item.yaml", "--out", "file"], "--out")):
        for order in ([*arguments, "-o", "json"], ["-o", "json", *arguments]):
            result = local.run(*order)
            assert (result.code, result.data["reason"]) == (2, "InvalidInput"), result
            assert complaint in result.data["error"] and result.data["error"] in result.err, result
        text = local.run(*arguments)
        assert text.code == 2 and text.out == "" or "--shell" in arguments, text


def test_result_file_equals_the_output_after_every_end(local):
    for number, (document, arguments) in enumerate((
            (shell(GOOD), []), (shell("exit 3"), []), (shell("true"), ["--operation", "DELETE"]), (item(command=["/absent"]), []),
            (shell(GOOD, image="oci-archive:absent.tar"), []), (shell(GOOD, image="no reference"), []))):
        result = local.run_item(document, "--out", f"out{number}", *arguments)
        assert json.loads((local.home / f"out{number}/result.json").read_text()) == result.data, result
        assert json.loads((local.home / f"out{number}/exports.json").read_text()) == result.data["exports"]


@pytest.mark.parametrize("code", [2, 124, 125, 126, 127, 130])
def test_exit_codes_of_main_are_distinguished_from_our_own(local, code):
    result = local.run_item(shell(f"exit {code}"))
    assert (result.code, result.data["exitCode"], result.data["reason"]) == (code, code, "MainFailed"), result
    assert result.data["error"] == (f"main exited with code {code}" if code < 129 else f"main was killed by signal {code - 128} (Interrupt)")


def test_log_tail_has_the_last_lines_of_main(local):
    result = local.run_item(shell("for i in $(seq 30); do echo line $i; done; printf 'caf\\351'; exit 1"))
    assert result.data["logTail"] == [*(f"line {number}" for number in range(12, 31)), "caf\ufffd"], result
    assert "main | line 1\n" in result.err
    assert local.run_item(shell("true")).data["logTail"] == []


def test_a_run_that_is_killed_has_a_result(local):
    process = local.start(local.documents(shell("echo started; while :; do sleep 0.1; done", image=busybox(local))), "-o", "json")
    wait_for_line(process, "main | started")
    for child in children_of(process.pid):
        os.kill(child, signal.SIGKILL)
    result = end(process)
    assert (result.code, result.data["reason"], result.data["error"]) == (125, "RunFailed", "the run was killed by signal 9"), result
    assert not wait_gone(local)


def test_interrupt_while_the_documents_are_read(local):
    for arguments in ((), ("-o", "json")):
        process = subprocess.Popen(local.command("run", "-", *arguments), cwd=local.home, text=True, env=local.environment(),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: has_handler(process.pid, signal.SIGINT), "a handler of SIGINT", timeout=30)
        process.send_signal(signal.SIGINT)
        output, err = process.communicate(timeout=60)
        result = Result(process.returncode, output, err, process.args)
        assert result.code == 130 and err == "longshore run: interrupted\n", result
        assert result.data["reason"] == "Interrupted" if arguments else output == "", result


@pytest.mark.parametrize("local", ["root"], indirect=True)
def test_user_without_subordinate_ids(local):
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
               *local.command("run", local.documents(shell(GOOD, image=busybox(local))), "-o", "json")]
    done = subprocess.run(command, cwd=local.home, capture_output=True, text=True, env=local.environment())
    result = Result(done.returncode, done.stdout, done.stderr, command)
    first, last = map(int, re.search(r"usermod --add-subuids (\d+)-(\d+) ", result.data["error"]).groups())
    assert result.code == 125 and last - first == 65535, result
    for line in pathlib.Path("/etc/subuid").read_text().split():
        _, begin, count = line.split(":")
        assert last < int(begin) or first >= int(begin) + int(count), (result, line)


# --- images that can't be pulled -------------------------------------------------------------------------------------

def test_interrupt_and_timeout_while_the_image_is_pulled(local):
    with silent_registry() as image:
        result = local.run_item(shell(GOOD, image=image), "--plain-http", "--timeout", "1s")
        assert (result.code, result.data["reason"], result.data["exitCode"]) == (124, "TimedOut", None), result
        assert result.data["error"].startswith(f'image "{image}": timed out after 1s ') and "while it was read" in result.data["error"]
        process = local.start(local.documents(shell(GOOD, image=image)), "--plain-http", "-o", "json", "-v")
        wait_for_line(process, "context")  # the first line; the pull follows at once
        result = end(process, signal.SIGINT)
        assert (result.code, result.data["reason"]) == (130, "Interrupted"), result
        assert result.data["error"] == f'image "{image}": interrupted while it was read' or "it was prepared" in result.data["error"]
        terminal = Terminal(local.command("run", "item.yaml", "--plain-http"), local.home, local.environment(TERM="xterm"))
        terminal.read_until("manifest")
        terminal.write("\x03")
        assert terminal.end() == 130
        assert f'image "{image}": interrupted while it was read' in " ".join(plain(terminal.seen).split()), terminal.seen


def test_retries_are_shown_with_their_cause(local):
    port = closed_port()
    result = local.run_item(shell(GOOD, image=f"127.0.0.1:{port}/x:1"), "--plain-http", "--timeout", "2s")
    lines = re.findall(r"^image +\S+ s  retrying in [\d.]+ s: (.*)$", result.err, re.MULTILINE)
    assert len(lines) > 1 and all(f"127.0.0.1 port {port}" in line for line in lines), result
    assert result.code == 124 and 'the last error was: GET "http://127.0.0.1' in result.data["error"], result
    component = shell(GOOD, image=busybox(local), componentDescriptor={"ref": {
        "repositoryContext": {"type": "ociRegistry", "baseUrl": f"http://127.0.0.1:{port}"}, "componentName": "example.com/x", "version": "1.0.0"}})
    result = local.run_item(component, "--plain-http", "--timeout", "2s")
    lines = re.findall(r"^init +\S+ s  retrying in [\d.]+ s: (.*)$", result.err, re.MULTILINE)
    assert len(lines) > 1 and all(f"127.0.0.1 port {port}" in line for line in lines), result
    assert result.code == 124 and "while init was preparing the inputs" in result.data["error"], result
    assert any("retrying registry request" in line for line in result.data["logTail"]), result


def test_missing_default_context_is_mentioned_where_it_may_matter(local, registry):
    note = 'note: context "default" not found in the files; the controller would use its pull Secrets'
    assert note not in local.run_item(shell("true")).err
    assert note in local.run_item(shell("true"), "-v").err
    reference = {"repositoryContext": {"type": "ociRegistry", "baseUrl": registry.url}, "componentName": "example.com/absent", "version": "1.0.0"}
    for failed in (local.run_item(shell("true", componentDescriptor={"ref": reference}), "--plain-http"),
                   local.run_item(shell("true", image=f"{registry.host}/absent:1"), "--plain-http")):
        assert failed.code == 125 and note in failed.err, failed
    assert note not in local.run_item(shell("true", image="oci-archive:absent.tar")).err


# --- names of images -------------------------------------------------------------------------------------------------

def test_file_names_as_images(local):
    result = local.run("--image", "busybox.oci.tar", "-o", "json")
    assert result.code == 2 and 'write "./busybox.oci.tar" to use it, or "docker.io/library/busybox.oci.tar"' in result.data["error"], result
    assert local.run_item(shell(GOOD, image="busybox.oci.tar")).code == 2
    assert local.run_item(shell(GOOD, image="./busybox.oci.tar")).data["exports"] == {"a": 1}
    result = local.run("--image", "docker-archive:busybox.oci.tar", "-o", "json")
    assert result.code == 125 and "oci-archive:FILE is for OCI archives" in result.data["error"], result
    result = local.run("--image", "oci-archive:absent.tar", "-o", "json")
    assert f'open "absent.tar" in the current directory "{local.home}"' in result.data["error"], result


def test_each_image_without_an_item_has_its_own_state(local):
    count = "n=$(cat $STATE_PATH/n 2>/dev/null || echo 0); echo $((n+1)) > $STATE_PATH/n; echo \"runs: $((n+1))\" > $EXPORTS_PATH"
    for name in ("one", "two"):
        local.write(f"{name}.tar", oci.archive(images.busybox(command=[count]), f"localhost/{name}:1"))
    for name, runs in (("one", 1), ("two", 1), ("one", 2)):
        result = local.run("--image", f"./{name}.tar", "-o", "json")
        assert result.data["exports"] == {"runs": runs}, result


def test_items_of_the_same_name_share_their_state_with_a_warning(local):
    (local.home / "other").mkdir()
    local.documents(shell("echo 1 > $STATE_PATH/f", image=busybox(local)), name="other/item.yaml")
    assert "warning" not in local.run("other/item.yaml").err
    result = local.run_item(shell("true"))
    assert f'the namespace and name of the one in "{local.home}/other/item.yaml", whose state it continues; use --state DIR' in result.err
    assert "warning" not in local.run_item(shell("true")).err


# --- programs that can't be started ----------------------------------------------------------------------------------

def test_program_that_is_missing_in_the_image(local):
    files = {"bin/odd": (b"\0\1\2", 0o755), "bin/data": (b"x", 0o644), "bin/dos": (b"#!/bin/sh\r\necho\r\n", 0o755)}
    local.write("odd.tar", oci.archive(images.busybox(files), "localhost/odd:1"))
    odd = f"oci-archive:{local.home}/odd.tar"
    faults = (
        (item(command=["/no/such/program"]), 127, "ProgramNotFound", 'the image has no "/no/such/program"'),
        (item(command=["python3", "x.py"]), 127, "ProgramNotFound", 'the image has no program "python3"; its PATH is /bin'),
        (item(command=["python3 -u"]), 127, "ProgramNotFound", 'the image has no program "python3 -u" (blanks are part of the name'),
        (script("#!/usr/bin/python3\nprint(1)"), 127, "ProgramNotFound", 'the image has no "/usr/bin/python3", which the first line of "/data/ls/script/script" names'),
        (item(command=["dos"], image=odd), 127, "ProgramNotFound", 'the first line of "/bin/dos" ends with a carriage return'),
        (item(command=["/bin/data"], image=odd), 126, "ProgramNotExecutable", '"/bin/data" in the image is not executable for user 1000'),
        (item(command=["/bin/odd"], image=odd), 126, "ProgramNotExecutable", "cannot execute main's program: exec"))
    for runtime in ("crun", "runc") if local.user == "root" else ("crun",):
        for document, code, reason, error in faults:
            result = local.run_item(document, "--runtime", runtime)
            assert (result.code, result.data["reason"], result.data["exitCode"]) == (code, reason, None), result
            assert result.data["error"].startswith(error), result
            assert "main |" not in result.err and result.data["logTail"] == [], "messages of the runtime are not output of main"


def test_image_for_another_architecture(local):
    other = "arm64" if images.ARCHITECTURE != "arm64" else "amd64"
    base = images.busybox({"bin/odd": (b"\0\1\2", 0o755)})
    config = oci.Blob(json.dumps({**json.loads(base.config.data), "architecture": other}).encode(), oci.CONFIG)
    manifest = oci.manifest_of(config, [base.layer])
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "manifests": [manifest.descriptor()]}).encode()}
    files |= {"blobs/sha256/" + blob.digest.partition(":")[2]: blob.data for blob in (config, manifest, base.layer)}
    image = f"oci-archive:{local.write('other.tar', oci.tar_of(files))}"
    result = local.run_item(shell(GOOD, image=image))  # the programs in it are those of this machine
    assert result.code == 0 and f"warning: the image is for linux/{other}, but this machine is linux/{images.ARCHITECTURE}" in result.err, result
    result = local.run_item(item(command=["/bin/odd"], image=image))
    assert (result.code, result.data["error"]) == (
        126, f"cannot execute main's program: the image is for linux/{other}, this machine is linux/{images.ARCHITECTURE}"), result


# --- objects of the item ---------------------------------------------------------------------------------------------

def test_target_in_another_namespace_or_of_another_kind(local):
    document = shell(GOOD, image=busybox(local))
    document["spec"]["target"] = {"name": "cluster"}
    for kind, namespace, complaint in (("Target", "other", 'they contain Target "other/cluster", which is in another namespace'),
                                       ("Targett", "example", 'they contain "example/cluster" of kind "Targett" (did you mean kind "Target"?)')):
        local.documents({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": kind, "metadata": {"name": "cluster", "namespace": namespace},
                         "spec": {"type": "x", "config": {}}}, name="target.yaml")
        result = local.run_item(document, "--target", "target.yaml")
        assert result.code == 2 and result.data["error"].startswith('the item\'s target "example/cluster" not found in the files; ' + complaint), result
