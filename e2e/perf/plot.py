# SPDX-License-Identifier: Apache-2.0
"""Draws plots as SVG without a library."""


def bars(title, pairs):
    """A bar chart of (label, value) pairs."""
    top = max(value for _, value in pairs) or 1
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{40 + 26 * len(pairs)}" font-family="sans-serif" '
             f'font-size="13"><rect width="100%" height="100%" fill="#fff"/><text x="8" y="20" font-weight="bold">{title}</text>']
    for index, (label, value) in enumerate(pairs):
        y = 34 + 26 * index
        lines.append(f'<text x="8" y="{y + 15}">{label}</text>'
                     f'<rect x="220" y="{y}" width="{max(1, 340 * value / top):.0f}" height="20" fill="#3b7ea1"/>'
                     f'<text x="{226 + 340 * value / top:.0f}" y="{y + 15}">{value:g}</text>')
    return "\n".join(lines + ["</svg>\n"])
