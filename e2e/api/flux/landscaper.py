# SPDX-License-Identifier: Apache-2.0
"""Runs Installations with inline blueprints as Landscaper does, as far as the examples need it: imports and exports of data and Targets,
and Go templates, which helm renders."""

import yaml

from bench import paths
from bench.kube import TARGETS
from flux_harness import EXAMPLES
from ship import helm


def render(template, values):
    """The result of a Go template with these values, parsed as YAML."""
    chart = paths.fresh_directory("blueprint")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: blueprint, version: 0.0.0}\n")
    # In a chart the values are below .Values; a named template gets them as its root, as in a blueprint.
    (chart / "templates" / "_blueprint.tpl").write_text(f'{{{{ define "blueprint" }}}}{template}{{{{ end }}}}')
    (chart / "templates" / "result.yaml").write_text('{{ include "blueprint" .Values }}')
    return yaml.safe_load(helm.run("template", "blueprint", chart, values=values))


class Installations:
    """The Installations of a file of the examples. They are in the order in which Landscaper would run them."""

    def __init__(self, world, name):
        self.world = world
        text = (EXAMPLES / name).read_text().replace("https://git.example.com/app.git", world.git.url(world.namespace))
        for old, new in (("flux-system", world.space), ("apps", world.namespace)):
            text = text.replace(f"amespace: {old}", f"amespace: {new}")
        self._installations = list(yaml.safe_load_all(text))
        self._items = []
        self.data = {}

    def run(self, job):
        """One job of each Installation, with what the previous ones exported."""
        for installation in self._installations:
            self._run(installation["metadata"]["name"], installation["spec"], job)

    def _run(self, name, spec, job):
        blueprint = self._blueprint(spec)
        targets = {entry["name"]: self.world.kube.get(TARGETS, entry["target"], self.world.namespace)
                   for entry in spec["imports"].get("targets", ())}
        data = {entry["name"]: self.data[entry["dataRef"]] for entry in spec["imports"].get("data", ())}
        assert {*targets, *data} == {entry["name"] for entry in blueprint["imports"]}
        exported = {}
        for entry in render(blueprint["deployExecutions"][0]["template"], {"imports": {**targets, **data}})["deployItems"]:
            item = self._item(name, entry, targets)
            created = item["metadata"]["name"]
            self.world.put(item, job)
            self.world.succeeded(created, job)
            if created not in self._items:
                self._items.append(created)
            if "exports" in entry["config"]:
                exported[entry["name"]] = self.world.exported(f"{created}-export")
        for execution in blueprint.get("exportExecutions", ()):
            results = render(execution["template"], {"deployitems": exported})["exports"]
            self.data.update({entry["dataRef"]: results[entry["name"]] for entry in spec["exports"]["data"]})

    @staticmethod
    def _blueprint(spec):
        return yaml.safe_load(spec["blueprint"]["inline"]["filesystem"]["blueprint.yaml"])

    def _item(self, installation, entry, targets):
        target = targets[entry["target"]["import"]]["metadata"]
        return {"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
                "metadata": {"name": f"{installation}-{entry['name']}", "namespace": self.world.namespace},
                "spec": {"type": entry["type"], "config": entry["config"],
                         "target": {"name": target["name"], "namespace": target["namespace"]}}}

    def remove(self):
        """Deletes all items, those of the last Installation first."""
        while self._items:
            self.world.removed(self._items.pop())
