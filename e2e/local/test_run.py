# SPDX-License-Identifier: Apache-2.0
"""A DeployItem on one machine: inputs, main, state, exports, and every way to end."""

import gzip
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml

from bench import images, oci
from local.conftest import SIGNALS, end, item, shell, wait_for_line, wait_gone


def test_exports_and_state_are_kept_between_runs(local):
    count = shell('n=$(cat $STATE_PATH/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > $STATE_PATH/n; '
                  'echo "{\\"runs\\": $n}" > $EXPORTS_PATH')
    for expected in (1, 2, 3):
        result = local.run_item(count)
        assert result.code == 0, result
        assert result.data["phase"] == "Succeeded"
        assert result.data["exports"] == {"runs": expected}
        assert result.data["state"]["files"] == 1
        assert set(result.data["durations"]) == {"image", "init", "main", "wait"}
    chunks = sorted(p.name for p in (local.state_of() / "state").iterdir())
    assert [int(name.split("-")[0]) for name in chunks] == [2, 3], "the newest generation and the one before are kept"
    assert not (local.state_of() / "run").exists()


def test_main_gets_the_documented_environment(local):
    target = {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
              "metadata": {"name": "t", "namespace": "example"}, "spec": {"type": "x", "secretRef": {"name": "s", "key": "k"}}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "example"},
              "stringData": {"k": '{"foo": "bar"}'}}
    probe = shell('{ echo "uid: $(id -u)"; echo "gid: $(id -g)"; echo "groups: $(id -G)"; echo "operation: $OPERATION"; '
                  'echo "imports: $(cat $IMPORTS_PATH)"; echo "caps: $(grep CapBnd /proc/self/status | cut -f2)"; '
                  'echo "target: $(cat $TARGET_PATH)"; } > $EXPORTS_PATH; '
                  '[ "$EXPORT_PATH" = "$EXPORTS_PATH" ] && [ "$STATE" = "$STATE_PATH" ] && touch /tmp/mine',
                  importValues={"a": [1, "two"]})
    probe["spec"]["target"] = {"name": "t"}
    local.documents(target, secret, name="target.yaml")
    result = local.run_item(probe, "--target", "target.yaml")
    assert result.code == 0, result
    seen = result.data["exports"]
    assert (seen["uid"], seen["gid"], seen["operation"]) == (1000, 3000, "RECONCILE")
    assert sorted(str(seen["groups"]).split()) == ["2000", "3000"]
    assert set(str(seen["caps"])) == {"0"}
    assert seen["imports"] == {"a": [1, "two"]}
    assert json.loads(seen["target"]["content"]) == {"foo": "bar"}


def test_imports_and_image_from_the_command_line(local):
    local.write("values.yaml", "greeting: hello\n")
    document = shell('cat $IMPORTS_PATH > $EXPORTS_PATH', importValues={"greeting": "overruled"})
    result = local.run_item(document, "--imports", "values.yaml")
    assert result.data["exports"] == {"greeting": "hello"}, result


@pytest.mark.parametrize("script, code, phase, exports", [
    ("echo from: image > $EXPORTS_PATH", 0, "Succeeded", {"from": "image"}),
    ("echo from: image > $EXPORTS_PATH; exit 7", 7, "Failed", {}),
])
def test_image_without_an_item_runs_its_own_command(local, script, code, phase, exports):
    archive = local.write("own.oci.tar", oci.archive(images.busybox(command=[script]), "localhost/own:1"))
    result = local.run("--image", f"oci-archive:{archive}", "-o", "json")
    assert (result.code, result.data["exitCode"], result.data["phase"]) == (code, code, phase), result
    assert result.data["exports"] == exports, result


def test_image_of_many_layers_has_its_top_layer(local):
    base = images.busybox()
    layers = [base.layer, *(oci.layer_of({"top": str(number).encode()}) for number in range(600))]
    config = json.loads(base.config.data)
    config["rootfs"]["diff_ids"] = [oci.digest_of(gzip.decompress(layer.data)) for layer in layers]
    config = oci.Blob(json.dumps(config).encode(), oci.CONFIG)
    manifest = oci.manifest_of(config, layers)
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "manifests": [manifest.descriptor()]}).encode()}
    files |= {"blobs/sha256/" + blob.digest.partition(":")[2]: blob.data for blob in (config, manifest, *layers)}
    archive = local.write("many.oci.tar", oci.tar_of(files))
    result = local.run_item(shell("echo \"top: $(cat /top)\" > $EXPORTS_PATH", image=f"oci-archive:{archive}"))
    assert result.code == 0 and result.data["exports"] == {"top": 599}, result


def test_item_from_standard_input(local):
    document = shell("echo done: true > $EXPORTS_PATH")
    document["spec"]["config"]["image"] = f"oci-archive:{local.image}"
    result = local.run("-", "-o", "json", stdin=yaml.safe_dump(document))
    assert result.data["exports"] == {"done": True}, result


def test_exit_code_of_main_is_passed_on_and_state_is_kept(local):
    result = local.run_item(shell("echo kept > $STATE_PATH/f; echo '{\"never\": 1}' > $EXPORTS_PATH; echo oh no >&2; exit 42"))
    assert result.code == 42
    assert result.data["phase"] == "Failed" and result.data["exitCode"] == 42
    assert result.data["exports"] == {}, "a failed main exports nothing"
    assert result.data["state"]["files"] == 1
    assert "main | oh no" in result.err
    assert result.data["error"] == "main exited with code 42" and result.data["logTail"] == ["oh no"]


def test_delete_gets_the_last_state_and_leaves_nothing(local):
    assert local.run_item(shell("echo 1 > $STATE_PATH/f")).code == 0
    refused = local.run_item(shell("exit 1"), "--operation", "DELETE")
    assert refused.data["phase"] == "DeleteFailed"
    assert list((local.state_of() / "state").iterdir()), "a failed DELETE keeps the state"
    result = local.run_item(shell('[ "$OPERATION" = DELETE ] && [ "$(cat $STATE_PATH/f)" = 1 ] && echo a: 1 > $EXPORTS_PATH'), "--operation", "DELETE")
    assert result.code == 0 and result.data["phase"] == "Succeeded", result
    assert result.data["state"] == {"result": "removed"} and result.data["exports"] == {}, result
    assert re.search(r"^wait +\S+ s  state removed$", result.err, re.MULTILINE) and "state stored" not in result.err, result
    assert local.run(local.documents(shell("true", image=f"oci-archive:{local.image}")), "--operation", "DELETE").out == \
        "Succeeded\nstate:\n  removed\n"
    assert not list((local.state_of() / "state").iterdir())


def test_files_of_the_run_are_kept_on_request(local):
    result = local.run_item(shell("true"), "--keep")
    kept = local.state_of() / "run"
    assert result.code == 0 and f'kept in "{kept}"' in result.err and result.data["runPath"] == str(kept), result
    assert (kept / "bundle/config.json").exists()
    assert local.run_item(shell("true")).code == 0 and not kept.exists()


def test_invalid_exports_are_reported_with_line_and_column(local):
    for text, complaint in (("- a\n- b\n", "line 1, column 1: expected an object"), ("a: b: c\n", "neither JSON nor YAML: line 1, column 5"),
                            ("[1", "neither JSON nor YAML: line ")):
        result = local.run_item(shell(f"printf '{text}' > $EXPORTS_PATH; echo s > $STATE_PATH/s"))
        assert (result.code, result.data["phase"], result.data["reason"]) == (125, "Failed", "RunFailed"), result
        assert result.data["error"].startswith("exports: $EXPORTS_PATH: " + complaint), result
        assert re.search(r"^wait .*, exports not stored$", result.err, re.MULTILINE), result
        assert result.data["state"]["files"] == 1, "the state is stored whatever the exports are"


def test_exports_file_must_not_be_a_symlink(local):
    result = local.run_item(shell("ln -s /etc/passwd $EXPORTS_PATH"))
    assert result.code == 125 and "values" in result.data["error"], result
    assert "root:" not in result.out + result.err


def test_timeout_ends_main_and_saves_state(local):
    script = "trap 'echo late > $STATE_PATH/f; exit 0' TERM; echo started; while :; do sleep 0.1; done"
    result = local.run_item(shell(script), "--timeout", "1s")
    assert result.code == 124 and result.data["reason"] == "TimedOut" and result.data["error"].startswith("timed out after 1s "), result
    assert "note: timed out after 1s; sending SIGTERM to main\n" in result.err
    assert result.data["state"]["files"] == 1
    stubborn = local.run_item(shell("trap '' TERM; while :; do sleep 0.1; done"), "--timeout", "1s", "--grace", "1s")
    assert stubborn.code == 124 and stubborn.data["exitCode"] == 137


def test_ctrl_c_saves_state(local):
    script = "trap 'echo saved > $STATE_PATH/f; exit 0' TERM; echo started; while :; do sleep 0.1; done"
    document = shell(script, image=f"oci-archive:{local.image}")
    process = local.start(local.documents(document), "-o", "json")
    wait_for_line(process, "main | started")
    result = end(process, SIGNALS.SIGINT)
    assert result.code == 130, result
    assert result.data["state"]["files"] == 1


def test_second_ctrl_c_kills(local):
    document = shell("trap 'echo ignoring' TERM INT; echo started; while :; do sleep 0.1; done",
                     image=f"oci-archive:{local.image}")
    process = local.start(local.documents(document), "-o", "json", "--grace", "10m")
    wait_for_line(process, "main | started")
    process.send_signal(SIGNALS.SIGINT)
    wait_for_line(process, "main | ignoring")
    result = end(process, SIGNALS.SIGINT)
    assert result.code == 130 and result.data["exitCode"] == 137, result


def test_kill_9_leaves_nothing_and_the_next_run_has_the_last_state(local):
    assert local.run_item(shell("echo first > $STATE_PATH/f")).code == 0
    document = shell("echo second > $STATE_PATH/f; echo started; while :; do sleep 0.1; done",
                     image=f"oci-archive:{local.image}")
    process = local.start(local.documents(document))
    wait_for_line(process, "main | started")
    end(process, SIGNALS.SIGKILL)
    assert not wait_gone(local)
    result = local.run_item(shell("echo \"was: $(cat $STATE_PATH/f)\" > $EXPORTS_PATH"))
    assert result.data["exports"] == {"was": "first"}, "the state of the last whole run"
    assert not (local.state_of() / "run").exists()


def test_state_that_can_not_be_stored_is_kept_for_the_next_run(local):
    """The state directory is removed while main runs: wait delivers the state, but it can't be moved there."""
    script = "echo saved > $STATE_PATH/f; echo started; while [ ! -e /data/ls/shared/go ]; do sleep 0.05; done"
    process = local.start(local.documents(shell(script, image=f"oci-archive:{local.image}")), "-o", "json")
    wait_for_line(process, "main | started")
    workspace = local.state_of()
    shutil.rmtree(workspace / "state")
    (workspace / "run/ls/shared/go").touch()
    result = end(process)
    assert result.code == 125 and result.data["phase"] == "Failed", result
    assert str(workspace / "run") in result.data["error"], result
    result = local.run_item(shell("echo \"was: $(cat $STATE_PATH/f)\" > $EXPORTS_PATH"))
    assert result.data["exports"] == {"was": "saved"}, result


def test_one_run_at_a_time(local):
    document = shell("echo started; while :; do sleep 0.1; done", image=f"oci-archive:{local.image}")
    process = local.start(local.documents(document))
    wait_for_line(process, "main | started")
    second = local.run(local.documents(document))
    assert second.code == 125 and "another run" in second.out + second.err
    end(process, SIGNALS.SIGKILL)
    wait_gone(local)


def test_each_state_directory_has_a_control_group_of_its_own(local):
    """Runs of one item with different state directories may be in progress at the same time."""
    document = shell("echo \"group: '$(grep -o '/longshore-.*' /proc/self/cgroup | head -n 1)'\" > $EXPORTS_PATH")
    groups = [local.run_item(document, "--state", name).data["exports"]["group"] for name in ("one", "two", "one")]
    if local.user == "root":
        assert groups[0] and groups[0] == groups[2] != groups[1], groups
    else:
        assert groups == ["", "", ""], groups


def test_mistakes_are_reported_before_anything_runs(local):
    wrong = item(env=[{"name": "STATE_PATH", "value": "x"}], image="example.com/UPPER", blueprint={"ref": {"resourceName": "b"}})
    result = local.run(local.documents(wrong))
    assert result.code == 2
    for path in ("env[0].name", "image", "blueprint"):
        assert path in result.err, result
    missing = shell("true", image=f"oci-archive:{local.image}")
    missing["spec"]["target"] = {"name": "nowhere"}
    result = local.run(local.documents(missing))
    assert result.code == 2 and 'the item\'s target "example/nowhere" not found in the files; add it with --target FILE' in result.err
    missing = shell("true", image=f"oci-archive:{local.image}")
    missing["spec"]["context"] = "own"
    result = local.run(local.documents(missing))
    assert result.code == 2 and 'the item\'s context "example/own" not found in the files; add it with --context FILE' in result.err


def test_unknown_field_is_a_warning(local):
    result = local.run_item(shell("true", immage="typo"))
    assert result.code == 0 and "warning: ignored spec.config.immage: unknown field" in result.err, result


def test_main_without_network(local):
    result = local.run_item(shell("echo \"interfaces: $(ls /sys/class/net | grep -v lo | wc -l)\" > $EXPORTS_PATH"),
                            "--network", "none")
    assert result.data["exports"] == {"interfaces": 0}, result


def test_changes_to_the_root_file_system_are_discarded(local):
    first = local.run_item(shell("echo x > /tmp/mark && ls /tmp/mark"))
    assert first.code == 0, first
    second = local.run_item(shell("[ ! -e /tmp/mark ]"))
    assert second.code == 0, second


def test_outputs_in_a_directory(local):
    result = local.run_item(shell("echo a: 1 > $EXPORTS_PATH"), "--out", "out")
    assert result.code == 0, result
    assert json.loads((local.home / "out/exports.json").read_text()) == {"a": 1}
    assert json.loads((local.home / "out/result.json").read_text()) == result.data


def test_output_directory_is_checked_before_main_runs(local):
    local.write("out", "a file")
    result = local.run_item(shell("echo 1 > $STATE_PATH/f; echo started"), "--out", "out")
    assert result.code == 2 and "--out" in result.data["error"], result
    assert "started" not in result.err


def test_closed_standard_streams_are_replaced(local):
    """Otherwise another file would get one of their numbers, and the output."""
    local.documents(shell("while [ ! -e /data/ls/shared/go ]; do sleep 0.05; done", image=f"oci-archive:{local.image}"))
    command = " ".join(local.command("run", "item.yaml", "--state", "state"))
    process = subprocess.Popen(["sh", "-c", f"exec {command} <&- >&- 2>&-"], cwd=local.home, env=local.environment())
    shared = local.home / "state/run/ls/shared"
    while not (shared / "exports").is_dir():  # init has begun
        assert process.poll() is None
        time.sleep(0.02)
    paths = [f"/proc/{process.pid}/fd/{number}" for number in range(3)]
    streams = [os.readlink(path) if os.path.lexists(path) else None for path in paths]
    (shared / "go").touch()
    assert process.wait(timeout=60) == 0
    assert streams == ["/dev/null"] * 3


def test_any_umask_of_the_caller(local):
    document = shell("echo ok: true > $EXPORTS_PATH", image=f"oci-archive:{local.image}")
    local.documents(document)
    command = " ".join(local.command("run", "item.yaml", "-o", "json"))
    done = subprocess.run(["sh", "-c", f"umask 077; exec {command}"], cwd=local.home, capture_output=True, text=True,
                          env=local.environment())
    assert json.loads(done.stdout)["exports"] == {"ok": True}, done


def test_machine_without_hosts_file_and_resolv_conf(local):
    """As in a minimal container: the files are not mounted."""
    document = shell("echo 'ran: true' > $EXPORTS_PATH")
    document["spec"]["config"]["image"] = f"oci-archive:{local.image}"
    upper = local.home / "upper"
    upper.mkdir()
    without = (f"mount -t tmpfs tmpfs {upper} && mkdir {upper}/upper {upper}/work && "
               f"mount -t overlay overlay -o lowerdir=/etc,upperdir={upper}/upper,workdir={upper}/work /etc && "
               "rm -f /etc/hosts /etc/resolv.conf && exec \"$@\"")
    command = local.command("run", local.documents(document), "-o", "json")
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", without, "sh", *command], cwd=local.home,
                          capture_output=True, text=True, timeout=120, env=local.environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exports"] == {"ran": True}
