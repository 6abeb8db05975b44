# SPDX-License-Identifier: Apache-2.0
"""The life of an item on one machine: inputs, main, state, exports, and how it ends."""

import json
import subprocess

import yaml

from local.conftest import SIGNALS, end, item, shell, wait_for_line, wait_gone


def test_exports_and_state_come_back(local):
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


def test_main_sees_what_the_contract_promises(local):
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
    only_image = local.run("--image", f"oci-archive:{local.image}", "-o", "json")
    assert only_image.code in (0, 2, 126, 127) and only_image.data["phase"], only_image


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
    assert "code 42" in result.data["error"]


def test_delete_gets_the_last_state_and_leaves_nothing(local):
    assert local.run_item(shell("echo 1 > $STATE_PATH/f")).code == 0
    refused = local.run_item(shell("exit 1"), "--operation", "DELETE")
    assert refused.data["phase"] == "DeleteFailed"
    assert list((local.state_of() / "state").iterdir()), "a failed DELETE keeps the state"
    result = local.run_item(shell('[ "$OPERATION" = DELETE ] && [ "$(cat $STATE_PATH/f)" = 1 ]'), "--operation", "DELETE")
    assert result.code == 0 and result.data["phase"] == "Succeeded", result
    assert not list((local.state_of() / "state").iterdir())


def test_exports_that_are_no_object_fail_with_line_and_column(local):
    for text, complaint in (("- a\n- b\n", "object"), ("a: b: c\n", "line 1"), ("[1", "line")):
        result = local.run_item(shell(f"printf '{text}' > $EXPORTS_PATH; echo s > $STATE_PATH/s"))
        assert result.code == 125 and result.data["phase"] == "Failed", result
        assert complaint in result.data["error"], result
        assert result.data["state"]["files"] == 1, "the state is stored whatever the exports are"


def test_export_that_is_a_link_is_refused_by_name(local):
    result = local.run_item(shell("ln -s /etc/passwd $EXPORTS_PATH"))
    assert result.code == 125 and "values" in result.data["error"], result
    assert "root:" not in result.out + result.err


def test_timeout_ends_main_and_saves_state(local):
    script = "trap 'echo late > $STATE_PATH/f; exit 0' TERM; echo started; while :; do sleep 0.1; done"
    result = local.run_item(shell(script), "--timeout", "1s")
    assert result.code == 124 and result.data["phase"] == "Failed"
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


def test_kill_9_leaves_nothing_and_the_next_run_goes_on(local):
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


def test_one_run_at_a_time(local):
    document = shell("echo started; while :; do sleep 0.1; done", image=f"oci-archive:{local.image}")
    process = local.start(local.documents(document))
    wait_for_line(process, "main | started")
    second = local.run(local.documents(document))
    assert second.code == 125 and "another run" in second.out + second.err
    end(process, SIGNALS.SIGKILL)
    wait_gone(local)


def test_mistakes_are_named_before_anything_runs(local):
    wrong = item(env=[{"name": "STATE_PATH", "value": "x"}], image="example.com/UPPER", blueprint={"ref": {"resourceName": "b"}})
    result = local.run(local.documents(wrong))
    assert result.code == 2
    for path in ("env[0].name", "image", "blueprint"):
        assert path in result.err, result
    missing = shell("true", image=f"oci-archive:{local.image}")
    missing["spec"]["target"] = {"name": "nowhere"}
    result = local.run(local.documents(missing))
    assert result.code == 2 and "nowhere" in result.err and "--target" in result.err


def test_a_field_that_no_one_reads_is_named(local):
    result = local.run_item(shell("true", immage="typo"))
    assert result.code == 0 and "immage" in result.err


def test_main_without_network(local):
    result = local.run_item(shell("echo \"interfaces: $(ls /sys/class/net | grep -v lo | wc -l)\" > $EXPORTS_PATH"),
                            "--network", "none")
    assert result.data["exports"] == {"interfaces": 0}, result


def test_root_file_system_is_mains_own_and_forgotten(local):
    first = local.run_item(shell("echo x > /tmp/mark && ls /tmp/mark"))
    assert first.code == 0, first
    second = local.run_item(shell("[ ! -e /tmp/mark ]"))
    assert second.code == 0, second


def test_outputs_in_a_directory(local):
    result = local.run_item(shell("echo a: 1 > $EXPORTS_PATH"), "--out", "out")
    assert result.code == 0, result
    assert json.loads((local.home / "out/exports.json").read_text()) == {"a": 1}
    assert json.loads((local.home / "out/result.json").read_text())["phase"] == "Succeeded"


def test_any_umask_of_the_caller(local):
    document = shell("echo ok: true > $EXPORTS_PATH", image=f"oci-archive:{local.image}")
    local.documents(document)
    command = " ".join(local.command("run", "item.yaml", "-o", "json"))
    done = subprocess.run(["sh", "-c", f"umask 077; exec {command}"], cwd=local.home, capture_output=True, text=True,
                          env=local.environment())
    assert json.loads(done.stdout)["exports"] == {"ok": True}, done


def test_a_machine_without_hosts_file_and_name_server(local):
    """As in a small container image: main gets what there is."""
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
