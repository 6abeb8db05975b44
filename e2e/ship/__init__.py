# SPDX-License-Identifier: Apache-2.0
"""What ships: images and chart."""
