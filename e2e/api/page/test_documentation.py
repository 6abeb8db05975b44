# SPDX-License-Identifier: Apache-2.0
"""The documentation of the API behind the status page: it names exactly the paths, parameters and members that exist. That answers have the members
of the JSON Schema is checked for every answer that a test gets (bench.page_client)."""

import re

import pytest

from bench import paths
from bench.page_client import SCHEMA

DEFINITIONS = {"overview": "overview", "rows": "rows", "namespaces": "namespaces", "row": "detail", "events": "update"}
SECTIONS = dict(re.findall(r"^### `/ui/api/v1/(\w+)`\n(.*?)(?=^##|\Z)", (paths.CHECKOUT / "docs/status-page.md").read_text(), re.S | re.M))


def source(name):
    return (paths.CHECKOUT / "deployer/page" / name).read_text()


def tables(path, heading):
    """The first columns of the rows of all tables with this heading, and the rest of these rows."""
    found = []
    for table in re.findall(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", SECTIONS[path], re.M):
        found += [tuple(row.strip("| ").split("|", 1)) for row in table.splitlines()]
    return found


def words(text):
    return set(re.findall(r"`([A-Za-z]+)`", text))


def resolved(schema):
    return SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def members(schema):
    """Names of all members of documents of this schema, and all values that it enumerates."""
    schema = resolved(schema)
    names, values = set(schema.get("properties", ())), set(schema.get("enum", ()))
    for part in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        more, others = members(part)
        names |= more
        values |= others
    return names, values


def test_every_path_is_documented():
    assert set(SECTIONS) == set(re.findall(r'API "(\w+)"', source("page.c"))) == set(DEFINITIONS)
    assert {entry["$ref"].rpartition("/")[2] for entry in SCHEMA["anyOf"]} == {*DEFINITIONS.values(), "error"}


def test_every_parameter_is_documented():
    documented = {path: {name for first, _ in tables(path, "parameter") for name in words(first)} for path in SECTIONS}
    lists = {"kind", "search", "limit", "offset"}
    assert documented == {"overview": set(), "events": set(), "namespaces": lists, "row": {"kind", "namespace", "name"},
                          "rows": lists | {"state", "namespace", "type", "order"}}
    read = set(re.findall(r'(?:exchange_parameter|read_number)\([^,()]+, "(\w+)"', source("api.c") + source("page.c")))
    assert read == set().union(*documented.values())
    [orders] = [rest for first, rest in tables("rows", "parameter") if "order" in words(first)]
    assert set(re.findall(r"`(-?[a-z]+)`", orders)) == set(re.findall(r'\{"(-?\w+)", ROWS_BY_', source("api.c")))


@pytest.mark.parametrize("path", DEFINITIONS)
def test_every_member_is_documented(path):
    names, values = members({"$ref": f"#/$defs/{DEFINITIONS[path]}"})
    rows = tables(path, "member")
    first = {name for column, _ in rows for name in words(column)}
    everything = first.union(*(words(rest) for _, rest in rows))
    top = set(SCHEMA["$defs"][DEFINITIONS[path]]["properties"])
    assert top - {"relatedTitle"} == first, "one row for each member of the document"
    assert names - everything == set(), "members that are not documented"
    assert everything - names - values - {"rows", "null"} == set(), "documented members that do not exist"
