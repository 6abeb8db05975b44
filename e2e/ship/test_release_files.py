# SPDX-License-Identifier: Apache-2.0
"""The files of `make release`: what they contain, and that they are signed. `make test` does this for the architecture of this machine, `make release-check`
for both, and test_release_again.py builds a second time."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest

from bench import paths
from ship import containers, helm, release
from ship.test_docs import commands_of

# In the lane of test_released.py, so that both use the release that is built once per process.
pytestmark = pytest.mark.node

ARCHITECTURES = release.ARCHITECTURES
NATIVE = release.NATIVE
README_COMMANDS = commands_of("From the files of a release, for amd64 and arm64, without building anything:")
CHARTS = sorted(file.parent.name for file in (paths.CHECKOUT / "charts").glob("*/Chart.yaml") if "type: library" not in file.read_text())

sys.path.insert(0, str(paths.CHECKOUT / "images"))
import signature  # noqa: E402


@pytest.fixture(scope="module")
def released():
    return release.files()


def command_for(architecture, program):
    """How a program of this architecture is run here."""
    return [program] if architecture == NATIVE else [release.EMULATOR, program]


def images_of(released, name):
    """(layout, {architecture: manifest}) of a released image."""
    layout = release.Layout(released.image(name))
    return layout, {architecture: layout.json(digest) for architecture, digest in digests_of(layout, released.version).items()}


def digests_of(layout, version):
    """{architecture: digest} of a released image."""
    top = layout.tags[f"v{version}"]
    described = layout.json(top["digest"]).get("manifests", [top])
    return {layout.json(layout.json(image["digest"])["config"]["digest"])["architecture"]: image["digest"] for image in described}


def test_a_release_has_all_files(released):
    expected = {"SHA256SUMS", "SHA256SUMS.sig", "longshore.pub", "provenance.json", "provenance.intoto.jsonl"}
    for name in release.RELEASED:
        expected |= {f"{name}-VERSION.oci.tar", *(f"{name}-VERSION-{architecture}.spdx.json" for architecture in ARCHITECTURES)}
    for chart in CHARTS:
        expected |= {f"{chart}-VERSION.tgz", f"{chart}-VERSION.oci.tar"}
    for architecture in ARCHITECTURES:
        expected |= {f"longshore-VERSION-linux-{architecture}.tar.gz", f"longshore_VERSION_{architecture}.deb"}
    assert {path.name for path in released.directory.iterdir()} == {name.replace("VERSION", released.version) for name in expected}


def test_the_commands_of_the_documentation_verify_the_checksums(released, tmp_path):
    page = (paths.CHECKOUT / "docs" / "install.md").read_text().partition("\n## Verify\n")[2].partition("\n## ")[0]
    commands = [line.strip() for line in page.splitlines() if line.startswith("    ") and not line.strip().startswith("cosign")]
    assert [command.split()[0] for command in commands] == ["base64", "openssl", "sha256sum"]
    shutil.copytree(released.directory, tmp_path / "release")
    verify = ["bash", "-euo", "pipefail", "-c", "\n".join(commands)]
    subprocess.run(verify, cwd=tmp_path / "release", check=True, capture_output=True)
    with (tmp_path / "release" / "SHA256SUMS").open("a") as file:
        file.write("\n")
    assert subprocess.run(verify, cwd=tmp_path / "release", capture_output=True).returncode != 0


def test_the_commands_of_the_readme_publish_and_install_the_release(released, registry, tmp_path):
    """Except that helm only renders: test_released.py installs."""
    verify, push, install, _ = README_COMMANDS
    environment = {**os.environ, **containers.configure(tmp_path, registry.host)}
    for command in (verify, push.replace("REGISTRY", f"{registry.host}/readme")):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=released.directory, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    program, verb, *arguments = install.replace("REGISTRY", f"{registry.host}/readme").split()
    assert (program, verb) == ("helm", "install") and "--create-namespace" in arguments
    options = [argument for argument in arguments if argument not in ("--create-namespace", "--wait")]
    rendered = subprocess.run([helm.program(), "template", *options, "--kube-version", "1.34.0"], cwd=released.directory, capture_output=True, text=True)
    assert rendered.returncode == 0, rendered.stderr
    images = set(re.findall(r'image: "?([^"\s]+)', rendered.stdout))
    assert images == {f"{registry.host}/readme/longshore:v{released.version}"}
    for name in release.NAMES:
        top = release.Layout(released.image(name)).tags[f"v{released.version}"]["digest"]
        assert release.pull(registry.client(), f"readme/{name}", f"v{released.version}") == release.Layout(released.image(name)).blobs[top]


def test_the_commands_of_the_documentation_install_the_command_line(released, tmp_path):
    page = (paths.CHECKOUT / "docs" / "install.md").read_text().partition("\n## The command line\n")[2]
    package, archive = (line.strip().removeprefix("sudo ") for line in page.splitlines() if line.startswith("    sudo "))
    # Into directories of the test instead of the system. dpkg needs its database there.
    (tmp_path / "local").mkdir()
    (tmp_path / "debian" / "var" / "lib" / "dpkg" / "info").mkdir(parents=True)
    (tmp_path / "debian" / "var" / "lib" / "dpkg" / "updates").mkdir()
    (tmp_path / "debian" / "var" / "lib" / "dpkg" / "status").touch()
    elsewhere = f"dpkg --root={tmp_path}/debian --force-not-root --force-depends --log=/dev/null"
    commands = [package.replace("amd64", NATIVE).replace("dpkg", elsewhere, 1), archive.replace("amd64", NATIVE).replace("/usr/local", f"{tmp_path}/local")]
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(commands)], cwd=released.directory, env={**os.environ, "VERSION": released.version},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for place in ("debian/usr", "local"):
        assert f"v{released.version}" in subprocess.run([tmp_path / place / "bin" / "longshore", "--version"], capture_output=True, text=True).stdout
        assert list((tmp_path / place / "share" / "man" / "man1").glob("longshore-run.1*"))
    assert not list((tmp_path / "local").glob("*.md")) and not (tmp_path / "local" / "LICENSE").exists()
    subprocess.run([*elsewhere.split(), "--purge", "longshore"], check=True, capture_output=True)
    assert not list((tmp_path / "debian" / "usr").rglob("*longshore*"))


def verified_digests(layout, public):
    """The digests for which the archive has a valid signature where cosign looks for it."""
    found = set()
    for tag, described in layout.tags.items():
        if not (match := re.fullmatch(r"sha256-([0-9a-f]{64})\.sig", tag)):
            continue
        layer, = layout.json(described["digest"])["layers"]
        payload = layout.blobs[layer["digest"]]
        assert layer["mediaType"] == "application/vnd.dev.cosign.simplesigning.v1+json"
        assert signature.verify(payload, layer["annotations"]["dev.cosignproject.cosign/signature"], public)
        assert not signature.verify(payload + b" ", layer["annotations"]["dev.cosignproject.cosign/signature"], public)
        critical = json.loads(payload)["critical"]
        assert critical["type"] == "cosign container image signature"
        assert critical["image"]["docker-manifest-digest"] == f"sha256:{match[1]}"
        found.add(f"sha256:{match[1]}")
    return found


@pytest.mark.parametrize("name", [*release.RELEASED, *CHARTS])
def test_images_and_charts_are_signed_and_every_blob_matches_its_digest(released, name):
    layout = release.Layout(released.image(name))
    for digest, blob in layout.blobs.items():
        assert digest == "sha256:" + hashlib.sha256(blob).hexdigest()
    top = layout.tags[f"v{released.version}" if name in release.RELEASED else released.version]["digest"]
    wanted = {top} | {image["digest"] for image in layout.json(top).get("manifests", [])}
    assert verified_digests(layout, released.public) == wanted


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", release.RELEASED)
def test_every_architecture_has_an_image_that_is_small_and_whose_program_runs(released, name, architecture, tmp_path):
    layout, manifests = images_of(released, name)
    assert set(manifests) == set(ARCHITECTURES)
    manifest = manifests[architecture]
    config = layout.json(manifest["config"]["digest"])
    assert (config["architecture"], config["os"], config["config"]["User"]) == (architecture, "linux", "65532:65532")
    files = layout.layer_files(manifest)
    program = tmp_path / name
    program.touch(0o755)
    if name == "longshore-helm":
        assert config["config"]["Entrypoint"] == ["/helm"] and set(files) == {"helm", "etc/ssl/certs/ca-certificates.crt"}
        program.write_bytes(files["helm"])
        command, version = ["version", "--short"], "v3."
    else:
        assert sum(map(len, files.values())) <= release.SIZE_MAX[name]
        program.write_bytes(files[name])
        command, version = ["--version"], f"v{released.version}"
    done = subprocess.run([*command_for(architecture, program), *command], capture_output=True, text=True)
    assert done.returncode == 0 and version in done.stdout, done.stdout + done.stderr
    headers = subprocess.run(["readelf", "--wide", "--file-header", "--program-headers", program], capture_output=True, text=True, check=True).stdout
    assert {"amd64": "X86-64", "arm64": "AArch64"}[architecture] in headers
    assert "INTERP" not in headers and ("GNU_RELRO" in headers or name == "longshore-helm")  # Go has none in a static program


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_command_line_works_on_every_architecture(released, architecture, tmp_path):
    """More than the version: YAML, JSON, schema checks and rendering. TLS and files are used by the others."""
    with tarfile.open(released.path(f"longshore-VERSION-linux-{architecture}.tar.gz")) as archive:
        archive.extractall(tmp_path)
    directory = tmp_path / f"longshore-{released.version}-linux-{architecture}"
    item = paths.CHECKOUT / "e2e" / "examples" / "script-counter" / "item.yaml"
    program = command_for(architecture, directory / "bin" / "longshore")
    for arguments in (["validate", "--strict", item], ["render", item], ["schema", "deployitem"], ["help"]):
        done = subprocess.run([*program, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
    native = subprocess.run([release.BUILD / "bin" / "longshore", "render", item], capture_output=True, text=True, check=True).stdout
    assert subprocess.run([*program, "render", item], capture_output=True, text=True, check=True).stdout == native
    assert (directory / "share" / "man" / "man1" / "longshore-run.1").is_file()
    assert (directory / "share" / "bash-completion" / "completions" / "longshore").is_file()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_debian_package_is_accepted_by_lintian(released, architecture, tmp_path):
    package = released.path(f"longshore_VERSION_{architecture}.deb")
    fields = subprocess.run(["dpkg-deb", "--field", package, "Package", "Version", "Architecture"], capture_output=True, text=True, check=True).stdout
    assert fields.split() == ["Package:", "longshore", "Version:", released.version, "Architecture:", architecture]
    found = subprocess.run(["lintian", "--tag-display-limit", "0", "--allow-root", package], capture_output=True, text=True)
    assert found.returncode == 0 and found.stdout == "", found.stdout + found.stderr
    subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
    # Computed from the files alone: the size of a directory differs between file systems, and the package would not be reproducible.
    size = subprocess.run(["dpkg-deb", "--field", package, "Installed-Size"], capture_output=True, text=True, check=True).stdout
    assert int(size) == sum(-(-path.lstat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1
                            for path in [tmp_path / "usr", *(tmp_path / "usr").rglob("*")])
    layout, manifests = images_of(released, "longshore")
    assert (tmp_path / "usr/bin/longshore").read_bytes() == layout.layer_files(manifests[architecture])["longshore"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_image_has_an_sbom(released, architecture):
    for name in release.RELEASED:
        document = json.loads(released.path(f"{name}-VERSION-{architecture}.spdx.json").read_text())
        layout = release.Layout(released.image(name))
        digest = digests_of(layout, released.version)[architecture]
        image, *packages = document["packages"]
        assert image["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest.partition(":")[2]}]
        if name == "longshore-helm":
            found = {package["name"]: package["externalRefs"][0]["referenceLocator"] for package in packages}
            assert found["helm.sh/helm/v3"].startswith("pkg:golang/helm.sh/helm/v3@v3.") and "k8s.io/client-go" in found
            assert re.fullmatch(r"pkg:golang/stdlib@1\.\d+(\.\d+)?", found["stdlib"]) and "ca-certificates" in found
            continue
        assert {"openssl", "curl", "libc6-dev", "libjansson-dev"} <= {package["name"] for package in packages}
        libc, = (package for package in packages if package["name"] == "libc6-dev")
        assert f"arch={architecture}" in libc["externalRefs"][0]["referenceLocator"]


def test_the_provenance_names_every_file_and_is_signed(released):
    text = released.path("provenance.json").read_bytes()
    statement = json.loads(text)
    assert (statement["_type"], statement["predicateType"]) == ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1")
    made = {"SHA256SUMS", "SHA256SUMS.sig", "longshore.pub", "provenance.json", "provenance.intoto.jsonl"}
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in released.directory.iterdir() if path.name not in made}
    assert {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]} == digests
    source, *packages = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert re.fullmatch(r"[0-9a-f]{40}", source["digest"]["gitCommit"]) and any("/gcc@" in package["uri"] for package in packages)
    assert any(re.search(r"/gcc-\S+-linux-gnu@", package["uri"]) for package in packages) == (len(ARCHITECTURES) > 1)
    assert any(package["uri"].startswith("pkg:golang/helm.sh/helm") for package in packages)
    envelope = json.loads(released.path("provenance.intoto.jsonl").read_text())
    assert base64.b64decode(envelope["payload"]) == text
    kind = envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(text), text)
    assert signature.verify(signed, envelope["signatures"][0]["sig"], released.public)


def stamp(released):
    """The settings with which another build has the same time stamps and labels."""
    layout, manifests = images_of(released, "longshore")
    build = json.loads(released.path("provenance.json").read_text())["predicate"]["buildDefinition"]
    return {"SOURCE_DATE_EPOCH": build["internalParameters"]["SOURCE_DATE_EPOCH"],
            "LONGSHORE_REVISION": manifests[NATIVE]["annotations"]["org.opencontainers.image.revision"]}


def must_be_the_same(released, again):
    """again was not signed. Its files are those of the signed release, except for signatures."""
    signatures = {"SHA256SUMS.sig", "longshore.pub", "provenance.intoto.jsonl"}
    assert {path.name for path in again.directory.iterdir()} == {path.name for path in released.directory.iterdir()} - signatures
    different = []
    for path in again.directory.iterdir():
        if path.suffixes[-2:] == [".oci", ".tar"]:  # the other one has signatures
            unsigned = {tag: described for tag, described in release.Layout(released.directory / path.name).tags.items() if not tag.endswith(".sig")}
            same = release.Layout(path).tags == unsigned
        else:
            same = path.name in ("SHA256SUMS", "provenance.json") or path.read_bytes() == (released.directory / path.name).read_bytes()
        different += [] if same else [path.name]
    assert different == []
    # These contain digests of the archives, and nothing else differs.
    first, second = (json.loads(made.path("provenance.json").read_text()) for made in (released, again))
    assert first["predicate"] == second["predicate"]
    assert {subject["name"] for subject in first["subject"]} == {subject["name"] for subject in second["subject"]}


@pytest.fixture
def memory():
    """A directory in memory, if there is room: in a file system of another kind than that of the first release."""
    has_room = shutil.disk_usage("/dev/shm").free > 1 << 30
    with tempfile.TemporaryDirectory(dir="/dev/shm" if has_room else None) as directory:
        yield directory


def test_the_same_programs_give_the_same_files_with_other_settings_and_in_another_file_system(released, memory, tmp_path):
    """test_release_again.py also compiles again."""
    with release.locked():
        again = release.Release(tmp_path, paths.CHECKOUT, is_signed=False, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", TMPDIR=memory, **stamp(released))
    must_be_the_same(released, again)


def test_a_release_without_a_key_is_refused_with_the_way_to_make_one(tmp_path):
    for arguments, environment, message in ((["build", "1.2.3"], {}, "openssl ecparam"), (["build", "next"], {"SIGNING_KEY": "none"}, "is not a version")):
        done = subprocess.run([paths.CHECKOUT / "images" / "release", *arguments], capture_output=True, text=True,
                              env={**os.environ, "LONGSHORE_OUT": str(tmp_path), "SIGNING_KEY": "", **environment})
        assert done.returncode == 1 and message in done.stderr
        assert list(tmp_path.iterdir()) == []
