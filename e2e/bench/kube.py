# SPDX-License-Identifier: Apache-2.0
"""A simple client of the Kubernetes API: paths and JSON. It caches only the connection and discovery.

A resource is named by its plural, after group and version unless it is core v1:
"secrets", "apps/v1/deployments", "landscaper.gardener.cloud/v1alpha1/deployitems".
"""

import concurrent.futures
import http.client
import json
import socket
import ssl
import threading
import urllib.parse

from bench.waiting import wait_until

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

LANDSCAPER = "landscaper.gardener.cloud/v1alpha1"
DEPLOYITEMS = f"{LANDSCAPER}/deployitems"
TARGETS = f"{LANDSCAPER}/targets"
CONTEXTS = f"{LANDSCAPER}/contexts"
SYNCOBJECTS = f"{LANDSCAPER}/syncobjects"
CRITICALPROBLEMS = f"{LANDSCAPER}/criticalproblems"


class ApiError(Exception):
    """A response of the API that is not a success."""

    def __init__(self, status, body):
        self.status = status
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        self.reason = answer.get("reason", "")
        self.message = answer.get("message", body.decode(errors="replace"))
        self.details = answer.get("details", {})
        super().__init__(f"{status} {self.reason}: {self.message}")


class Client:
    """May be used from several threads: each thread has its own connection."""

    def __init__(self, server, authority, *, pair=None, token=None):
        self.server = server
        url = urllib.parse.urlsplit(server)
        self._address = (url.hostname, url.port)
        self._tls = ssl.create_default_context(cafile=str(authority))
        if pair is not None:
            self._tls.load_cert_chain(str(pair.certificate), str(pair.key))
        self._headers = {"Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()
        self._plurals = {}

    # --- requests ---

    def _connect(self, timeout):
        return http.client.HTTPSConnection(*self._address, context=self._tls, timeout=timeout)

    def raw(self, method, path, *, query=None, body=None, content_type="application/json", accept=None, timeout=60):
        """Sends one request; returns (status, bytes)."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = dict(self._headers)
        if accept:
            headers["Accept"] = accept
        if body is not None:
            headers["Content-Type"] = content_type
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        # The server may have closed a kept connection in the meantime, which is noticed only when it is used.
        for attempt in ("kept", "new"):
            connection = getattr(self._local, "connection", None) if attempt == "kept" else None
            if connection is None:
                if attempt == "kept":
                    continue
                connection = self._connect(timeout)
            self._local.connection = None
            try:
                connection.request(method, path, body=body, headers=headers)
                answer = connection.getresponse()
                data = answer.read()
            except (http.client.RemoteDisconnected, ConnectionError, http.client.CannotSendRequest, ssl.SSLError):
                connection.close()
                if attempt == "new":
                    raise
                continue
            self._local.connection = connection
            return answer.status, data
        raise AssertionError("unreachable")

    def request(self, method, path, **options):
        """Like raw, but parses the JSON and raises ApiError."""
        status, data = self.raw(method, path, **options)
        if status >= 300:
            raise ApiError(status, data)
        return json.loads(data) if data else None

    # --- paths ---

    @staticmethod
    def path(resource, name=None, namespace=None, subresource=None):
        group_version, _, plural = resource.rpartition("/")
        path = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version or 'v1'}"
        if namespace is not None:
            path += f"/namespaces/{namespace}"
        for part in (plural, name, subresource):
            if part is not None:
                path += f"/{part}"
        return path

    def resource_of(self, thing):
        """The resource of an object. Asks the server which resource its apiVersion and kind belong to; a CRD that was just installed
        is served a moment before the server lists its kind."""
        version, kind = thing["apiVersion"], thing["kind"]
        wait_until(lambda: self._knows(version, kind), f"kind {kind} of {version} in the discovery", timeout=20)
        return self._plurals[version, kind]

    def _knows(self, version, kind):
        if (version, kind) not in self._plurals:
            found = self.request("GET", f"/apis/{version}" if "/" in version else f"/api/{version}")["resources"]
            for entry in found:
                if "/" not in entry["name"]:
                    self._plurals[version, entry["kind"]] = f"{version}/{entry['name']}"
        return (version, kind) in self._plurals

    # --- verbs ---

    def get(self, resource, name, namespace=None, subresource=None):
        return self.request("GET", self.path(resource, name, namespace, subresource))

    def find(self, resource, name, namespace=None):
        """Like get, but returns None if there is no such object."""
        try:
            return self.get(resource, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, resource, namespace=None, **query):
        """One page as the server returns it. Query parameters: labelSelector, fieldSelector, limit, ..."""
        return self.request("GET", self.path(resource, namespace=namespace), query=query)

    def items(self, resource, namespace=None, **query):
        return self.list(resource, namespace, **query)["items"]

    def metadata(self, resource, namespace=None, **query):
        """The metadata of objects whose content may be large."""
        return [thing["metadata"] for thing in self.request(
            "GET", self.path(resource, namespace=namespace), query=query,
            accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")["items"]]

    def create(self, thing, namespace=None):
        """Creates an object in the given namespace, or in the namespace that the object names."""
        namespace = namespace or thing["metadata"].get("namespace")
        return self.request("POST", self.path(self.resource_of(thing), namespace=namespace), body=thing)

    def replace(self, thing, subresource=None):
        metadata = thing["metadata"]
        path = self.path(self.resource_of(thing), metadata["name"], metadata.get("namespace"), subresource)
        return self.request("PUT", path, body=thing)

    def apply(self, thing, namespace=None, manager="bench", force=True):
        """Server-side apply."""
        namespace = namespace or thing["metadata"].get("namespace")
        path = self.path(self.resource_of(thing), thing["metadata"]["name"], namespace)
        return self.request("PATCH", path, body=thing, content_type=APPLY,
                            query={"fieldManager": manager, "force": str(force).lower()})

    def patch(self, resource, name, change, namespace=None, subresource=None, content_type=MERGE):
        path = self.path(resource, name, namespace, subresource)
        return self.request("PATCH", path, body=change, content_type=content_type)

    def delete(self, resource, name, namespace=None, **options):
        """Options go into DeleteOptions: propagationPolicy, preconditions, gracePeriodSeconds."""
        return self.request("DELETE", self.path(resource, name, namespace), body=options or None)

    def delete_all(self, resource, namespace, **query):
        return self.request("DELETE", self.path(resource, namespace=namespace), query=query)

    def watch(self, resource, namespace=None, timeout=60, **query):
        """Yields (type, object) until the server ends the watch or no event arrives for timeout seconds."""
        query = {"watch": "true", **query}
        connection = self._connect(timeout)
        try:
            connection.request("GET", self.path(resource, namespace=namespace) + "?" + urllib.parse.urlencode(query),
                               headers=self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError(answer.status, answer.read())
            while line := answer.readline():
                event = json.loads(line)
                yield event["type"], event["object"]
        except (socket.timeout, TimeoutError):
            return
        finally:
            connection.close()

    # --- conveniences ---

    def create_many(self, things, namespace=None):
        """Creates many objects on several connections at once, for tests with thousands of objects."""
        return self._for_all(self.create, things, namespace)

    def apply_many(self, things):
        return self._for_all(self.apply, things, None)

    def _for_all(self, verb, things, namespace, connections=8):
        things = list(things)
        if things:
            self.resource_of(things[0])  # look up the resource once, not in each thread
        with concurrent.futures.ThreadPoolExecutor(connections) as pool:
            return list(pool.map(lambda thing: verb(thing, namespace), things))

    def logs(self, pod, namespace, container):
        _, data = self.raw("GET", self.path("pods", pod, namespace, "log"), query={"container": container})
        return data.decode(errors="replace")

    def token(self, account, namespace, audiences=None, seconds=3600):
        """Requests a token for a ServiceAccount (TokenRequest)."""
        spec = {"expirationSeconds": seconds}
        if audiences:
            spec["audiences"] = audiences
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = self.path("serviceaccounts", account, namespace, "token")
        return self.request("POST", path, body=wanted)["status"]["token"]

    def allow(self, user, rules, namespace=None, name=None, kind="User"):
        """Grants a role with these rules to a user, a group or a ServiceAccount ("namespace:name")."""
        name = name or f"bench-{abs(hash((user, kind, namespace, json.dumps(rules)))):x}"
        prefix = "" if namespace else "Cluster"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        subject = {"kind": kind, "name": user, "apiGroup": "rbac.authorization.k8s.io"}
        if kind == "ServiceAccount":
            account_namespace, _, account = user.partition(":")
            subject = {"kind": kind, "name": account, "namespace": account_namespace}
        self.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{prefix}Role", "metadata": metadata, "rules": rules})
        self.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{prefix}RoleBinding", "metadata": metadata,
                    "subjects": [subject],
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": name}})

    def wait_for(self, resource, name, condition, namespace=None, what="", timeout=120):
        """Waits until condition(object or None) is true; returns the object."""
        def check():
            thing = self.find(resource, name, namespace)
            return (thing or True) if condition(thing) else None
        return wait_until(check, what or f"{resource} {namespace}/{name}", timeout)
