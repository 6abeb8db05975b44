# SPDX-License-Identifier: Apache-2.0
"""Thousands of custom resources within seconds: copies of an object that the API server has stored, written to its etcd.

The API server stores custom resources as JSON, so that a copy needs no more than another name and uid.
"""

import base64
import json
import uuid

# etcd accepts up to 128 operations in one transaction.
TRANSACTION = 128


def copy(apiserver, resource, namespace, template, names):
    """Adds copies of the object called template, with everything that it has, also its status."""
    group, _, plural = resource.split("/")
    directory = f"/registry/{group}/{plural}/{namespace}"
    [stored] = apiserver.etcd.call("kv/range", {"key": _encode(f"{directory}/{template}")})["kvs"]
    thing = json.loads(base64.b64decode(stored["value"]))
    names = list(names)
    for start in range(0, len(names), TRANSACTION):
        puts = []
        for name in names[start:start + TRANSACTION]:
            thing["metadata"] |= {"name": name, "uid": str(uuid.uuid4())}
            puts.append({"requestPut": {"key": _encode(f"{directory}/{name}"), "value": _encode(json.dumps(thing))}})
        assert apiserver.etcd.call("kv/txn", {"success": puts})["succeeded"]


def _encode(text):
    return base64.b64encode(text.encode()).decode()
