# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

# Tests are imported by path, so the helper module has to be imported by path as well.
_spec = importlib.util.spec_from_file_location("render_harness", pathlib.Path(__file__).with_name("harness.py"))
_harness = importlib.util.module_from_spec(_spec)
sys.modules["render_harness"] = _harness
_spec.loader.exec_module(_harness)
