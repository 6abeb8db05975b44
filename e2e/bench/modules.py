# SPDX-License-Identifier: Apache-2.0
"""Imports helper modules of the tests by path, because the tests are imported by path too."""

import importlib.util
import sys


def load(name, path):
    """The module with this name; it is executed only once."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
