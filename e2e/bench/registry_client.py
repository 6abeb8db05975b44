# SPDX-License-Identifier: Apache-2.0
"""Pushes to and pulls from a registry, with the authentication that it requires."""

import base64
import json
import pathlib
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request

from bench.oci import Blob

ACCEPT = ", ".join(["application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
                    "application/vnd.docker.distribution.manifest.v2+json",
                    "application/vnd.docker.distribution.manifest.list.v2+json"])


class RegistryError(Exception):
    """A response of a registry that is not a success."""

    def __init__(self, status, text):
        self.status = status
        super().__init__(f"{status}: {text}")


class RegistryClient:
    """credentials is (user, password) or None."""

    def __init__(self, url, credentials=None, authority=None):
        self.url = url
        self._credentials = credentials
        self._tls = ssl.create_default_context(cafile=str(authority)) if authority else None
        self._authorizations = {}

    # --- requests ---

    def _basic(self):
        return "Basic " + base64.b64encode(":".join(self._credentials).encode()).decode()

    def _open(self, request):
        return urllib.request.urlopen(request, context=self._tls, timeout=60)

    def _token(self, challenge, scope):
        fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        query = urllib.parse.urlencode({"service": fields.get("service", ""), "scope": scope})
        request = urllib.request.Request(f"{fields['realm']}?{query}")
        if self._credentials:
            request.add_header("Authorization", self._basic())
        with self._open(request) as answer:
            return "Bearer " + json.load(answer)["token"]

    def request(self, method, url, repository, data=None, headers=None):
        """Returns (headers, bytes). Requests a token or sends the password only if the registry requires it."""
        scope = f"repository:{repository}:pull,push"
        authorization = self._authorizations.get(scope)
        for last in (False, True):
            request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
            if authorization:
                request.add_header("Authorization", authorization)
            try:
                with self._open(request) as answer:
                    return answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                challenge = error.headers.get("WWW-Authenticate", "")
                if error.code != 401 or last:
                    raise RegistryError(error.code, error.read().decode(errors="replace")) from None
                try:
                    authorization = self._answer(challenge, scope)
                except urllib.error.HTTPError as refused:
                    raise RegistryError(refused.code, "the token server refused the credentials") from None
                if authorization is None:
                    raise RegistryError(401, challenge) from None
        raise AssertionError("unreachable")

    def _answer(self, challenge, scope):
        """Caches the authorization: the registry closes the connection on a large unauthorized body instead of reading it."""
        if challenge.lower().startswith("bearer"):
            self._authorizations[scope] = self._token(challenge, scope)
        elif self._credentials:
            self._authorizations[scope] = self._basic()
        return self._authorizations.get(scope)

    # --- push ---

    def push_blob(self, repository, blob):
        headers, _ = self.request("POST", f"{self.url}/v2/{repository}/blobs/uploads/", repository, b"")
        # The location is absolute and may already have a query.
        location = urllib.parse.urljoin(self.url, headers["Location"])
        location += ("&" if "?" in location else "?") + urllib.parse.urlencode({"digest": blob.digest})
        self.request("PUT", location, repository, blob.data, {"Content-Type": "application/octet-stream"})

    def push_manifest(self, repository, blob, tag=None):
        self.request("PUT", f"{self.url}/v2/{repository}/manifests/{tag or blob.digest}", repository, blob.data,
                     {"Content-Type": blob.media_type})

    def push(self, repository, tag, manifest, blobs):
        """Pushes an artifact: its blobs (config and layers), then its manifest. Returns the digest."""
        for blob in {blob.digest: blob for blob in blobs}.values():
            self.push_blob(repository, blob)
        self.push_manifest(repository, manifest, tag)
        return manifest.digest

    def push_image(self, repository, tag, picture):
        return self.push(repository, tag, picture.manifest, [picture.config, picture.layer])

    def push_ctf(self, directory, prefix=""):
        """Pushes all artifacts of a CTF directory (artifact-index.json and blobs/) and returns their number.

        The index lists repository, tag and digest of each artifact; blobs are files named "sha256.<hex>".
        """
        directory = pathlib.Path(directory)
        artifacts = json.loads((directory / "artifact-index.json").read_text())["artifacts"]
        for artifact in artifacts:
            self._push_from_ctf(directory, prefix + artifact["repository"], artifact["digest"], artifact.get("tag"))
        return len(artifacts)

    def _push_from_ctf(self, directory, repository, digest, tag):
        def read(wanted, media_type="application/octet-stream"):
            return Blob((directory / "blobs" / wanted.replace(":", ".")).read_bytes(), media_type)

        data = read(digest).data
        body = json.loads(data)
        # The manifests of an index must exist before the index is pushed.
        for child in body.get("manifests", []):
            self._push_from_ctf(directory, repository, child["digest"], None)
        for entry in [*body.get("layers", []), *([body["config"]] if "config" in body else [])]:
            self.push_blob(repository, read(entry["digest"]))
        media_type = body.get("mediaType") or ("application/vnd.oci.image.index.v1+json" if "manifests" in body
                                               else "application/vnd.oci.image.manifest.v1+json")
        self.push_manifest(repository, Blob(data, media_type), tag)

    # --- pull ---

    def manifest(self, repository, reference):
        _, data = self.request("GET", f"{self.url}/v2/{repository}/manifests/{reference}", repository, headers={"Accept": ACCEPT})
        return json.loads(data)

    def blob(self, repository, digest):
        return self.request("GET", f"{self.url}/v2/{repository}/blobs/{digest}", repository)[1]
