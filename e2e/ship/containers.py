# SPDX-License-Identifier: Apache-2.0
"""A home directory for Buildah and Skopeo that does not depend on this machine's configuration."""


def configure(home, host):
    """Storage of its own for Buildah, and the registry of the node, without TLS, also in place of docker.io. Returns the environment."""
    # Not overlay: it cannot be mounted on another overlay, which the root of a container often is.
    (home / "storage.conf").write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{home}/storage"\nrunroot = "{home}/running"\n')
    registries = home / ".config/containers/registries.conf"
    registries.parent.mkdir(parents=True)
    registries.write_text("".join(f'[[registry]]\nprefix = "{prefix}"\nlocation = "{host}"\ninsecure = true\n' for prefix in (host, "docker.io")))
    return {"HOME": str(home), "TMPDIR": str(home), "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"), "CONTAINERS_CONF": "/dev/null",
            "REGISTRY_AUTH_FILE": "", "BUILDAH_ISOLATION": "chroot"}
