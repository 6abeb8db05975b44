# SPDX-License-Identifier: Apache-2.0
"""The test bench: starts the real components (API server, registry, node) that Longshore works with."""
