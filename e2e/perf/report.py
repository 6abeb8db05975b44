# SPDX-License-Identifier: Apache-2.0
"""The figures as a table on the terminal and as a page with plots."""

ORIGINAL = {"first": 63, "repeated": 38, "cpuMsPerRun": 112, "runsPerSecond": 2, "binaryMB": 160}


def rows(results):
    """(what, ours, the Go original where it was measured)"""
    found = []
    for name, program in results.get("programs", {}).items():
        size = program.get("staticBytes")
        if size:
            found.append((f"{name}, static, bytes", f"{size:,}", f"{ORIGINAL['binaryMB']} MB"))
        found.append((f"{name}, instructions to start", f"{program['startInstructions']:,}", ""))
    for name, counts in results.get("requests", {}).items():
        found.append((f"requests, {name} run" if name != "deletion" else "requests, deletion", str(sum(counts.values())),
                      str(ORIGINAL.get(name, ""))))
    for row in results.get("controller", []):
        floor = row["floorRequestsPerSecond"] / row["requestsPerRun"]
        found.append((f"{row['items']} items: runs a second", f"{row['runsPerSecond']:.1f}", str(ORIGINAL["runsPerSecond"])))
        found.append((f"{row['items']} items: of the floor", f"{row['runsPerSecond'] / floor:.2f}", ""))
        found.append((f"{row['items']} items: CPU a run, ms", f"{row['cpuMsPerRun']:.1f}", str(ORIGINAL["cpuMsPerRun"])))
    for row in results.get("memory", []):
        found.append((f"RSS with {row['items']} finished items, MB", f"{row['rssBytes'] / 1e6:.1f}",
                      "195" if row["items"] == 10000 else ""))
        found.append((f"requests at start with {row['items']}", str(sum(row["requests"].values())), ""))
    if "wait" in results:
        found.append(("main's end to export, median ms", f"{results['wait']['endToExport']['medianMs']:.1f}", "2,000 to 45,000"))
        found.append(("main's end to export, p99 ms", f"{results['wait']['endToExport']['p99Ms']:.1f}", ""))
    if "local" in results:
        found.append(("longshore run beside runc run", f"{results['local']['ratio']:.2f} times", ""))
    return found


def table(results):
    print(f"{'':45} {'longshore':>18} {'Go original':>18}")
    for what, ours, original in rows(results):
        print(f"{what:45} {ours:>18} {original:>18}")


def bars(title, pairs):
    """A plot of (label, value) as SVG."""
    top = max(value for _, value in pairs) or 1
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{40 + 26 * len(pairs)}" font-family="sans-serif" '
             f'font-size="13"><text x="8" y="20" font-weight="bold">{title}</text>']
    for index, (label, value) in enumerate(pairs):
        y = 34 + 26 * index
        lines.append(f'<text x="8" y="{y + 15}">{label}</text>'
                     f'<rect x="220" y="{y}" width="{max(1, 340 * value / top):.0f}" height="20" fill="#3b7ea1"/>'
                     f'<text x="{226 + 340 * value / top:.0f}" y="{y + 15}">{value:g}</text>')
    return "\n".join(lines + ["</svg>\n"])


def page(results, docs):
    text = ["# Performance", "",
            "Made by `make bench`; run it again to get the figures of your machine. Counts do not depend on the machine, times do: read them as",
            "ratios. The column of the Go original was measured on a machine like the one of the last run.", "",
            "| | longshore | Go original |", "|---|---:|---:|"]
    text += [f"| {what} | {ours} | {original} |" for what, ours, original in rows(results)]
    if "requests" in results:
        pairs = [("longshore, first run", sum(results["requests"]["first"].values())), ("Go, first run", ORIGINAL["first"]),
                 ("longshore, repeated", sum(results["requests"]["repeated"].values())), ("Go, repeated", ORIGINAL["repeated"])]
        (docs / "requests.svg").write_text(bars("API requests a run", pairs))
        text += ["", "![requests](requests.svg)", "", "## Requests, by verb and resource", ""]
        for name, counts in results["requests"].items():
            text += [f"- {name}: " + ", ".join(f"{count} × {what}" for what, count in sorted(counts.items()))]
    if "memory" in results:
        pairs = [(f"{row['items']} items", round(row["rssBytes"] / 1e6, 1)) for row in results["memory"]]
        (docs / "memory.svg").write_text(bars("Resident memory of the controller, MB", pairs))
        text += ["", "![memory](memory.svg)"]
    (docs / "performance.md").write_text("\n".join(text) + "\n")
