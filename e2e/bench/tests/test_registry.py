# SPDX-License-Identifier: Apache-2.0
"""The registries of the bench accept pushes and reject clients without the right credentials."""

import pytest

from bench import oci
from bench.registry_client import RegistryError

FLAVOURS = ["registry", "basic_registry", "token_registry", "tls_registry"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_push_and_pull(request, flavour):
    registry = request.getfixturevalue(flavour)
    picture = oci.image({"hello": b"world"}, entrypoint=["/hello"])
    client, mark = registry.client(), registry.mark()
    digest = client.push_image("some/image", "1", picture)
    assert client.blob("some/image", client.manifest("some/image", digest)["layers"][0]["digest"]) == picture.layer.data
    assert ("PUT", "/v2/some/image/manifests/1", 201) in registry.requests(mark)


@pytest.mark.parametrize("flavour", ["basic_registry", "token_registry"])
@pytest.mark.parametrize("credentials", [None, ("ship", "wrong")])
def test_access_without_the_password_is_rejected(request, flavour, credentials):
    registry = request.getfixturevalue(flavour)
    with pytest.raises(RegistryError) as error:
        registry.client(credentials).manifest("some/image", "1")
    assert error.value.status == 401
