# SPDX-License-Identifier: Apache-2.0
import pathlib

from bench.modules import load

HERE = pathlib.Path(__file__).parent

load("controller_harness", HERE.parent / "controller" / "harness.py")
load("page_harness", HERE / "harness.py")
