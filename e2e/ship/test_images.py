# SPDX-License-Identifier: Apache-2.0
"""The images of the release build: their exact content and configuration."""

import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tarfile

import pytest

from bench import paths
from ship import containerfile, release

BUNDLE = "etc/ssl/certs/ca-certificates.crt"


@pytest.fixture(scope="module", params=release.NAMES)
def image(request):
    archive = release.Archive(release.archives()[request.param])
    archive.program = request.param
    return archive


@pytest.fixture
def program(image, tmp_path):
    path = tmp_path / image.program
    path.write_bytes(image.data[image.program])
    path.chmod(0o755)
    return path


def test_an_image_contains_only_the_program_and_its_compatibility_link(image):
    files = {image.program, release.ENTRY[image.program]}
    if image.program != "longshore-wait":
        files |= {"etc", "etc/ssl", "etc/ssl/certs", BUNDLE}
    assert set(image.entries) == files
    link = image.entries[release.ENTRY[image.program]]
    assert link.issym() and link.linkname == image.program
    for entry in image.entries.values():
        assert (entry.uid, entry.gid) == (0, 0)
        assert entry.issym() or not entry.mode & 0o022, f"{entry.name} is writable for others"
        assert not entry.mode & 0o6000


def test_the_image_is_small(image):
    assert image.size <= release.SIZE_MAX[image.program]


def test_the_configuration_of_the_image(image):
    config = image.config["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/" + release.ENTRY[image.program]]
    annotations = image.manifest["annotations"]
    prefix = "org.opencontainers.image."
    assert annotations[prefix + "title"] == image.program
    assert annotations[prefix + "licenses"] == "Apache-2.0"
    assert re.fullmatch(r"v\d+\.\d+\.\d+.*", annotations[prefix + "version"])
    assert re.fullmatch(r"[0-9a-f]{40}", annotations[prefix + "revision"])
    assert annotations[prefix + "created"] == image.config["created"]
    assert config["Labels"] == annotations


def test_every_blob_matches_its_digest(image):
    with tarfile.open(release.archives()[image.program]) as archive:
        blobs = [entry for entry in archive if entry.name.startswith("blobs/sha256/") and entry.isfile()]
        assert len(blobs) == 3
        for blob in blobs:
            assert hashlib.sha256(archive.extractfile(blob).read()).hexdigest() == blob.name.rpartition("/")[2]


def test_certificates_are_those_of_debian(image):
    shipped = sorted(pathlib.Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))
    # The list of a machine may contain certificates of its owner, which must not get into an image.
    assert image.data.get(BUNDLE, b"").count(b"BEGIN CERTIFICATE") == (0 if image.program == "longshore-wait" else len(shipped))


def test_the_program_is_static_and_hardened(program):
    headers = subprocess.run(["readelf", "--wide", "--program-headers", "--dynamic", program], capture_output=True, text=True, check=True).stdout
    assert "DYN (Position-Independent Executable file)" in headers
    assert "INTERP" not in headers and "(NEEDED)" not in headers and "(RUNPATH)" not in headers and "(RPATH)" not in headers
    assert "GNU_RELRO" in headers and "BIND_NOW" in headers
    stack, = re.findall(r"GNU_STACK .*", headers)
    assert "RWE" not in stack and " RW " in stack
    assert not [line for line in headers.splitlines() if line.strip().startswith("LOAD") and "RWE" in line]
    assert b"__stack_chk_fail" not in program.read_bytes(), "symbols are not stripped"


BRANCH_PROTECTION = {"amd64": "-fcf-protection=full", "arm64": "-mbranch-protection=standard"}


def compile_units(program, architecture=release.NATIVE):
    """{source file: compiler options that affect code} of our own files, from the debug information of the release."""
    release.archives(architecture)
    debug = release.build_directory(architecture) / "debug" / f"{program}.debug"
    text = subprocess.run(["readelf", "--wide", "--debug-dump=info", "--dwarf-depth=1", debug], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"DW_AT_producer.*?: (GNU C.*)\n(?:.*\n)*?.*DW_AT_name +: (?:\(.*?\): )?(\S+)", text)
    # Our paths are relative to the checkout; other paths belong to the C library and to other packages.
    return {name: producer.split() for producer, name in found if (paths.CHECKOUT / name).is_file()}


def check_hardening_options(program, architecture):
    units = compile_units(program, architecture)
    wanted = {"-fstack-protector-strong", "-fstack-clash-protection", BRANCH_PROTECTION[architecture], "-ftrivial-auto-var-init=zero"}
    assert len(units) > 30 and any(name.endswith("/main.c") for name in units), units.keys()
    for name, options in units.items():
        missing = wanted - set(options)
        assert not missing and ("-fPIE" in options or "-fPIC" in options), (name, options)
        unwanted = ("-fno-stack", "-fcf-protection=none", "-mbranch-protection=none")
        assert not [option for option in options if option.startswith(unwanted)], (name, options)


def test_all_our_code_is_compiled_with_the_hardening_options(image):
    check_hardening_options(image.program, release.NATIVE)


def test_all_our_code_is_compiled_with_fortified_functions(image):
    """Macros are not in the debug information, so this checks the compile commands and the called functions in the object files."""
    units = compile_units(image.program)
    commands = {entry["file"]: entry["command"].split() for entry in json.loads((release.BUILD / "compile_commands.json").read_text())}
    for name in units:
        command = commands[str((paths.CHECKOUT / name).resolve())]
        fortified = [option for option in command if "_FORTIFY_SOURCE" in option]
        assert fortified == ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"] and "-O2" in command, (name, fortified)
    libraries = [path for path in release.BUILD.rglob("*.a") if "CMakeFiles" not in path.parts]
    used = subprocess.run(["nm", "--undefined-only", "--format=posix", *libraries], capture_output=True, text=True, check=True).stdout
    assert {"__stack_chk_fail", "__vsnprintf_chk", "__memcpy_chk"} <= {line.split()[0] for line in used.splitlines() if line.strip()}


def test_no_directory_of_the_build_is_in_the_program(program):
    data = program.read_bytes()
    for directory in (paths.CHECKOUT, release.BUILD, pathlib.Path.home() / ".cache"):
        assert str(directory).encode() not in data


def test_the_program_starts_in_an_empty_root_under_both_names(image, program, tmp_path):
    """It needs no files of a system: no dynamic loader, no libraries, no nsswitch.conf, no /proc."""
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    program.rename(root / image.program)
    (root / release.ENTRY[image.program]).symlink_to(image.program)
    enter = ["chroot", "--userspec=65532:65532", root] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot", root]
    for name in (image.program, release.ENTRY[image.program]):
        done = subprocess.run([*enter, "/" + name, "--version"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert image.manifest["annotations"]["org.opencontainers.image.version"] in done.stdout


# --- SBOM ------------------------------------------------------------------------------------------------------------

def sbom(name):
    release.archives()
    return json.loads((release.OUT / f"{name}.spdx.json").read_text())


def test_the_sbom_lists_what_is_linked(image):
    document = sbom(image.program)
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    packages = {package["name"]: package for package in document["packages"]}
    described = packages[image.program]
    assert described["checksums"] == [{"algorithm": "SHA256", "checksumValue": image.digest.partition(":")[2]}]
    expected = {"curl", "openssl", "libnghttp2-dev", "libc-ares-dev", "libjansson-dev", "libyaml-dev", "zlib1g-dev", "libc6-dev",
                "libseccomp-dev", "libcap-dev", "libgcc-12-dev"}
    assert expected <= set(packages)
    assert ("ca-certificates" in packages) == (BUNDLE in image.entries)
    if image.program == "longshore-init":  # unpacks archives
        assert {"libarchive", "libzstd-dev", "liblzma-dev"} <= set(packages)
    for package in packages.values():
        assert package["licenseConcluded"] not in ("", "NOASSERTION")
        if package is not described:
            assert package["externalRefs"][0]["referenceLocator"].startswith(f"pkg:deb/debian/{package['name']}@")
            assert package["attributionTexts"][0].strip()
    linked = {entry["relatedSpdxElement"] for entry in document["relationships"] if entry["spdxElementId"] == "SPDXRef-Image"}
    assert linked == {package["SPDXID"] for package in packages.values()} - {"SPDXRef-Image"}
    assert len({package["SPDXID"] for package in document["packages"]}) == len(document["packages"])


def test_the_sbom_has_the_versions_of_the_packages(image):
    for package in sbom(image.program)["packages"]:
        if package["name"] in ("curl", "libarchive", "openssl", image.program):
            continue
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package["name"]], capture_output=True, text=True, check=True).stdout
        assert package["versionInfo"] == installed


def test_a_library_with_an_unknown_licence_fails_the_build(tmp_path):
    (tmp_path / "sources.txt").write_text("")
    archive, name = shutil.which("dpkg"), "dpkg"  # a file of a package that is not in the list
    (tmp_path / "map").write_text(f"Archive member included to satisfy reference by file (symbol)\n\nMemory Configuration\n\nLOAD {tmp_path}/x.o\n")
    (tmp_path / "x.o").symlink_to(archive)
    done = subprocess.run(["/usr/bin/python3", paths.CHECKOUT / "images" / "sbom.py", "--image", release.archives()["longshore-wait"],
                           "--map", tmp_path / "map", "--libraries", tmp_path, "--output", tmp_path / "out", "--version", "v0", "--architecture", "amd64"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and name in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_sbom_lists_a_library_in_a_directory_with_spaces(tmp_path):
    libraries = tmp_path / "a cache"
    (libraries / "licenses").mkdir(parents=True)
    (libraries / "licenses" / "libcurl").write_text("free")
    (libraries / "sources.txt").write_text("libcurl.a curl 1.0\n")
    (tmp_path / "map").write_text(f"Archive member included to satisfy reference by file (symbol)\n\n{libraries}/lib/libcurl.a(easy.c.o)\n"
                                  f"                              our/lib.a(http.c.o) (curl_easy_init)\n\nMemory Configuration\n\nLOAD our/main.c.o\n")
    subprocess.run(["/usr/bin/python3", paths.CHECKOUT / "images" / "sbom.py", "--image", release.archives()["longshore-wait"],
                    "--map", tmp_path / "map", "--libraries", libraries, "--output", tmp_path / "out", "--version", "v0", "--architecture", "amd64"], check=True)
    assert [package["name"] for package in json.loads((tmp_path / "out").read_text())["packages"]] == ["longshore-wait", "curl"]


# --- reproducible builds ---------------------------------------------------------------------------------------------

def checkout():
    """{name: content} of all files that git tracks or would add."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=paths.CHECKOUT,
                            capture_output=True, check=True).stdout.decode().split("\0")
    return {name: (paths.CHECKOUT / name).read_bytes() for name in listed if name and (paths.CHECKOUT / name).is_file()}


def is_built(name):
    parts = pathlib.PurePosixPath(name).parts
    return parts[0] in ("CMakeLists.txt", "common", "deployer", "images", "init", "wait") and not {"tests", "fuzz"} & set(parts)


def build_here(tries=3):
    """The archives of the checkout and the source files. Builds again if a source file changed during the build."""
    for _ in range(tries):
        release.archives.cache_clear()
        before = checkout()
        archives = release.archives()
        if all(before.get(name) == content for name, content in checkout().items() if is_built(name)):
            return archives, before
    raise AssertionError("files of the checkout changed during every build")


def write_files(files, directory):
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
        (directory / name).chmod((paths.CHECKOUT / name).stat().st_mode)


def stamp_of(archive):
    annotations = release.Archive(archive).manifest["annotations"]
    created = datetime.datetime.fromisoformat(annotations["org.opencontainers.image.created"].replace("Z", "+00:00"))
    return {"SOURCE_DATE_EPOCH": str(int(created.timestamp())), "LONGSHORE_REVISION": annotations["org.opencontainers.image.revision"]}


@pytest.fixture(scope="module")
def built_twice(tmp_path_factory):
    """Builds the checkout with `make images`, and a copy with the Containerfile: with other source, build and library directories."""
    archives, files = build_here()
    directory = tmp_path_factory.mktemp("containerfile")
    write_files(files, directory / "checkout")
    with containerfile.Builder(directory, release.libraries()) as builder:
        builder.arguments = stamp_of(archives["longshore"])
        yield archives, {target: builder.build(target) for target in ("out", *release.NAMES)}, directory / "checkout"


def test_the_containerfile_produces_the_same_bytes_as_make_images(built_twice):
    """Also shows that builds in different directories give the same bytes."""
    archives, built, _ = built_twice
    assert {path.name for path in built["out"].root.iterdir()} == {f"{name}{end}" for name in archives for end in (".oci.tar", ".spdx.json")}
    for name, path in archives.items():
        assert release.Archive(path).digest == release.Archive(built["out"].root / path.name).digest, name
        assert path.read_bytes() == (built["out"].root / path.name).read_bytes(), name
        assert (release.OUT / f"{name}.spdx.json").read_bytes() == (built["out"].root / f"{name}.spdx.json").read_bytes()


def test_an_image_of_the_containerfile_has_the_files_of_make_images(image, built_twice):
    built = built_twice[1][image.program]
    found = {str(path.relative_to(built.root)): path for path in built.root.rglob("*")}
    assert set(found) == set(image.entries)
    for name, path in found.items():
        entry, status = image.entries[name], path.lstat()
        assert (status.st_uid, status.st_gid) == (0, 0)
        assert (path.is_symlink(), path.is_dir()) == (entry.issym(), entry.isdir()), name
        if entry.issym():
            assert os.readlink(path) == entry.linkname
        else:
            assert stat.S_IMODE(status.st_mode) == entry.mode, name
        if entry.isfile():
            assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(image.data[name]).digest(), name
    assert (built.config["User"], built.config["Entrypoint"]) == (image.config["config"]["User"], image.config["config"]["Entrypoint"])


def test_a_checkout_path_with_spaces_can_be_built(built_twice, tmp_path):
    archives, _, checkout_copy = built_twice
    directory = tmp_path / "a much longer name, with spaces"
    shutil.copytree(checkout_copy / "images", directory / "checkout" / "images")
    shutil.copy(checkout_copy / "CMakeLists.txt", directory / "checkout")
    shutil.copytree(release.BUILD / "bin", directory / "release" / "bin")
    for file in ("libraries.txt", "sysroot.txt", *(f"{name}.map" for name in release.NAMES)):
        shutil.copy(release.BUILD / file, directory / "release")
    release.build(directory / "checkout", "archives", LONGSHORE_RELEASE_BUILD=str(directory / "release"), LONGSHORE_OUT=str(directory / "out"),
                  **stamp_of(archives["longshore"]))
    for path in archives.values():
        assert path.read_bytes() == (directory / "out" / path.name).read_bytes()
