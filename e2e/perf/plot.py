# SPDX-License-Identifier: Apache-2.0
"""Draws plots as SVG without a library."""

import math

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 40, 40, 50


def _decades(values):
    """The powers of ten around the values."""
    low = math.floor(math.log10(min(values)))
    return [10.0 ** power for power in range(low, max(low + 1, math.ceil(math.log10(max(values)))) + 1)]


def _place(value, decades, begin, end):
    first, last = math.log10(decades[0]), math.log10(decades[-1])
    return begin + (math.log10(value) - first) / (last - first) * (end - begin)


def curve(title, label, points):
    """A curve through (x, y) points on logarithmic axes: cost that grows in proportion is a line with the slope of the grid's diagonal."""
    points = [(x, max(y, 0.001)) for x, y in points]
    columns, rows = _decades([x for x, _ in points]), _decades([y for _, y in points])
    at = [(_place(x, columns, LEFT, WIDTH - RIGHT), _place(y, rows, HEIGHT - BOTTOM, TOP)) for x, y in points]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">'
             f'<rect width="100%" height="100%" fill="#fff"/><text x="8" y="20" font-weight="bold">{title}</text>']
    for value in rows:
        y = _place(value, rows, HEIGHT - BOTTOM, TOP)
        lines.append(f'<path d="M{LEFT} {y:.0f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{value:,g}</text>')
    for value in columns:
        x = _place(value, columns, LEFT, WIDTH - RIGHT)
        lines.append(f'<path d="M{x:.0f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                     f'<text x="{x:.0f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:,.0f}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">{label}</text>'
                 f'<path d="M{"L".join(f"{x:.0f} {y:.0f}" for x, y in at)}" fill="none" stroke="#3b7ea1" stroke-width="2"/>')
    lines += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="#3b7ea1"/><text x="{x + 8:.0f}" y="{y - 8:.0f}">{value:,.3g}</text>'
              for (x, y), (_, value) in zip(at, points)]
    return "\n".join([*lines, "</svg>\n"])


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
