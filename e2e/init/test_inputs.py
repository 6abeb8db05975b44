# SPDX-License-Identifier: Apache-2.0
"""Imports, target, inline inputs and invalid configurations. Needs no registry."""

import json

import pytest

from init.harness import TARGET, tree
from init.parts import BLUEPRINT_YAML, descriptor

INLINE = {"inline": {"filesystem": {"blueprint.yaml": BLUEPRINT_YAML.decode(), "data": {"x": "y"}}}}


@pytest.mark.parametrize("value", [{"key": "val1"}, "abc", 5, 1.5, True, None, [1, {"a": "b"}], {}, "<&>\u2028"])
def test_import_values_are_written_as_json(pod, value):
    result = pod.run({"importValues": value}).must_succeed()
    assert json.loads(result.read("imports/import.json")) == value


def test_import_values_are_copied_verbatim(pod):
    text = '{"importValues": {"n": 123456789012345678901234567890, "f": 1.10, "s": "\\u0000"} }'
    result = pod.run(text).must_succeed()
    assert result.read("imports/import.json") == '{"n": 123456789012345678901234567890, "f": 1.10, "s": "\\u0000"}'


def test_without_import_values_only_the_directories_are_created(pod):
    pod.run({}).must_succeed()
    assert {path.name for path in pod.shared.iterdir()} == {"imports", "exports", "targets", "content", "state"}
    assert [path.name for path in pod.shared.rglob("*") if path.is_file()] == ["target.json"]


def test_a_configuration_in_yaml_is_read(pod):
    result = pod.run("apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\nkind: ProviderConfiguration\n"
                     "importValues:\n  key: val1\n").must_succeed()
    assert json.loads(result.read("imports/import.json")) == {"key": "val1"}


def test_the_target_gets_apiversion_and_kind(pod):
    result = pod.run({}).must_succeed()
    target = json.loads(result.read("targets/target.json"))
    assert target["content"] == TARGET["content"]
    assert target["target"] == {**TARGET["target"], "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target"}


def test_no_target_is_null(pod):
    pod.write("target.json", "null")
    assert pod.run({}).must_succeed().read("targets/target.json") == "null"


def test_a_missing_target_file_is_an_error(pod):
    (pod.inputs / "target.json").unlink()
    assert pod.run({}).must_fail("target", "target.json").failure["step"] == "target"


def test_an_inline_blueprint_needs_no_component(pod):
    result = pod.run({"blueprint": INLINE, "importValues": "abc"}).must_succeed()
    assert result.content() == {"blueprint.yaml": BLUEPRINT_YAML, "data/x": b"y"}
    assert not (pod.shared / "component_descriptor.json").exists()
    assert result.read("imports/import.json") == '"abc"'


def test_inline_blueprint_and_inline_descriptor_need_no_network(pod):
    body = descriptor("example.com/a", labels=[{"name": "l", "value": 1}])
    result = pod.run({"blueprint": INLINE, "componentDescriptor": {"inline": body}}).must_succeed()
    assert result.descriptors() == {"meta": {"schemaVersion": "v2"}, "components": [body]}


def test_nested_descriptors_of_labels_are_used(pod):
    inner = descriptor("example.com/inner")
    body = descriptor("example.com/outer", references=[("example.com/inner", "1.0.0")])
    body["component"]["componentReferences"][0]["labels"] = [
        {"name": "landscaper.gardener.cloud/component-descriptor", "value": inner}]
    result = pod.run({"componentDescriptor": {"inline": body}}).must_succeed()
    assert result.components() == [("example.com/outer", "1.0.0"), ("example.com/inner", "1.0.0")]


def test_no_list_for_an_inline_descriptor_without_contexts(pod):
    body = descriptor("example.com/a", repositoryContexts=[])
    pod.run({"blueprint": INLINE, "componentDescriptor": {"inline": body}}).must_succeed()
    assert not (pod.shared / "component_descriptor.json").exists()


def test_no_list_for_a_reference_without_context_and_resolvers(pod):
    ref = {"ref": {"componentName": "example.com/a", "version": "1.0.0"}}
    pod.run({"componentDescriptor": ref}).must_succeed()
    assert not (pod.shared / "component_descriptor.json").exists()
    result = pod.run({"componentDescriptor": ref, "blueprint": {"ref": {"resourceName": "bp"}}})
    result.must_fail("neither a repositoryContext nor an OCM resolver", code=2)


@pytest.mark.parametrize("configuration, why", [
    ("not: [json", "configuration"),
    ("[]", "expected an object"),
    ({"apiVersion": "v1", "kind": "ConfigMap"}, 'apiVersion: expected "container.deployer.landscaper.gardener.cloud/v1alpha1"'),
    ({"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "Configuration"},
     'kind: expected "ProviderConfiguration", found "Configuration"'),
    ({"componentDescriptor": {}}, 'componentDescriptor: neither "inline" nor "ref" is set'),
    ({"blueprint": {}}, 'blueprint: neither "inline" nor "ref" is set'),
    ({"blueprint": {"ref": {"resourceName": "x"}}}, "componentDescriptor"),
    ({"componentDescriptor": {"inline": descriptor("../../etc")}}, "invalid component name"),
    ({"componentDescriptor": {"ref": {"componentName": "../x", "version": "1.0.0",
                                      "repositoryContext": {"type": "ociRegistry", "baseUrl": "h"}}}}, "invalid component name"),
    ({"componentDescriptor": {"ref": {"componentName": "example.com/a", "version": "1/../x",
                                      "repositoryContext": {"type": "ociRegistry", "baseUrl": "h"}}}}, "invalid version"),
    ({"componentDescriptor": {"ref": {"componentName": "example.com/a", "version": "1.0.0",
                                      "repositoryContext": {"type": "ociRegistry"}}}}, "baseUrl"),
])
def test_an_invalid_configuration_exits_with_2(pod, configuration, why):
    result = pod.run(configuration).must_fail(why, code=2)
    assert result.failure["step"] == "configuration"
    # No output was started.
    assert list(pod.shared.iterdir()) == []


def test_all_missing_variables_are_listed(pod):
    result = pod.run({}, env={"CONFIGURATION_PATH": None, "STATE_PATH": None, "DEPLOY_ITEM_NAME": None})
    result.must_fail("CONFIGURATION_PATH is not set", "STATE_PATH is not set",
                     "DEPLOY_ITEM_NAME is not set", code=2)


def test_unknown_flags_exit_with_2_and_those_of_go_are_accepted(pod):
    assert pod.run({}, arguments=["--what"]).code == 2
    quiet = pod.run({}, arguments=["-v", "error", "--disable-stacktrace=true", "--disable-caller"]).must_succeed()
    assert quiet.error == ""
    text = pod.run({}, arguments=["-v=info", "-f", "text"]).must_succeed()
    assert "init finished" in text.error and not text.error.startswith("{")


def test_the_version_and_the_help(pod):
    assert pod.run({}, arguments=["--version"]).must_succeed().error.startswith("longshore-init v")
    assert "--verbosity" in pod.run({}, arguments=["--help"]).must_succeed().error


@pytest.mark.parametrize("filesystem, why", [
    ({"blueprint.yaml": BLUEPRINT_YAML.decode(), "..": {"x": "y"}}, '"/..": invalid file name'),
    ({"blueprint.yaml": BLUEPRINT_YAML.decode(), "../../x": "y"}, "invalid file name"),
    ({"blueprint.yaml": BLUEPRINT_YAML.decode(), "l": {"$type": "symlink", "value": "l"}}, "more than 40 symlinks"),
    ({"x": "y"}, "blueprint.yaml not found"),
    ({"blueprint.yaml": "kind: Pod"}, "kind"),
    ([1], "expected an object"),
])
def test_an_invalid_inline_blueprint_leaves_no_content(pod, filesystem, why):
    result = pod.run({"blueprint": {"inline": {"filesystem": filesystem}}}).must_fail(why)
    assert result.content() == {}
    assert result.failure["step"] == "blueprint"


def test_log_and_termination_message_have_advice(pod):
    result = pod.run({"blueprint": {"inline": {"filesystem": {"x": "y"}}}}).must_fail()
    assert result.message.startswith('init failed at step "blueprint": blueprint: blueprint.yaml not found in the root directory; ')
    assert result.failure["advice"] in result.message
    assert len(result.message.encode()) <= 4096


def test_every_step_logs_its_size_and_duration(pod):
    result = pod.run({"blueprint": INLINE, "importValues": {"a": 1}}).must_succeed()
    for message in ("wrote blueprint content", "wrote import values", "wrote target"):
        line = result.line(message)
        assert line["bytes"] > 0 and line["ms"] >= 0
    assert "ms" in result.line("no state to restore")


def test_a_second_run_replaces_the_first(pod):
    """The kubelet runs init again with the same volume if the sandbox of the pod is lost."""
    pod.run({"blueprint": INLINE, "importValues": 1}).must_succeed()
    other = {"inline": {"filesystem": {"blueprint.yaml": BLUEPRINT_YAML.decode(), "other": "z"}}}
    result = pod.run({"blueprint": other, "importValues": 2}).must_succeed()
    assert result.content() == {"blueprint.yaml": BLUEPRINT_YAML, "other": b"z"}
    assert result.read("imports/import.json") == "2"


def test_symlinks_in_the_volume_are_not_followed(pod):
    outside = pod.directory / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    (pod.shared / "imports").symlink_to(outside)
    pod.run({"importValues": 1}).must_fail("imports")
    assert tree(outside) == {}
    (pod.shared / "imports").unlink()
    (pod.shared / "imports").mkdir()
    (pod.shared / "imports").chmod(0o777)
    (outside / "victim").write_text("safe")
    (outside / "victim").chmod(0o666)
    (pod.shared / "imports" / "import.json").symlink_to(outside / "victim")
    assert pod.run({"importValues": 1}).must_succeed().read("imports/import.json") == "1"
    assert (outside / "victim").read_text() == "safe"
    assert not (pod.shared / "imports" / "import.json").is_symlink()


def test_a_read_only_volume_is_reported(as_root, pod):
    pod.shared.chmod(0o555)
    assert pod.run({"importValues": 1}).must_fail("imports").failure["kind"] == "denied"
