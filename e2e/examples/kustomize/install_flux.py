#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the item that installs Flux: install-flux.yaml with the objects of an install manifest.

    flux install --export --components=source-controller,kustomize-controller --registry=registry.example.com/fluxcd > install.yaml
    install_flux.py install.yaml > item.yaml
"""

import pathlib
import sys

import yaml

ITEM = pathlib.Path(__file__).with_name("install-flux.yaml")


def item(objects):
    """The item that installs these objects."""
    made = yaml.safe_load(ITEM.read_text())
    made["spec"]["config"]["manifests"] = [{"manifest": thing} for thing in objects if thing]
    return made


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(yaml.safe_dump(item(yaml.safe_load_all(pathlib.Path(sys.argv[1]).read_text())), sort_keys=False), end="")


if __name__ == "__main__":
    main()
