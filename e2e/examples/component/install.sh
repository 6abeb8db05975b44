#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A script of the blueprint: exports the version in the component descriptor.
set -eu
version=$(grep -o '"version": *"[^"]*"' "$COMPONENT_DESCRIPTOR_PATH" | head -n 1 | cut -d '"' -f 4)
printf 'files: %s\nversion: "%s"\n' "$(find "$CONTENT_PATH" -type f | wc -l)" "$version" >"$EXPORTS_PATH"
