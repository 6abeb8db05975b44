# SPDX-License-Identifier: Apache-2.0
"""Unusual image layers give the same tree in `longshore run` as in containerd.

Every case has a directory of its own below /t, so that one image holds them all. containerd unpacks it with the native snapshotter
(layers applied one upon the other, as Longshore does) and with overlayfs (its default). Where these two differ from each other,
the case names the one that Longshore follows.
"""

import dataclasses
import gzip
import os
import pathlib
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time

import pytest

from bench import images, oci
from bench.containerd import Containerd
from local.conftest import Local, shell

OLD, OLDER = 1_000_000_000, 900_000_000.5
SNAPSHOTTERS = ("native", "overlayfs")
SETID = stat.S_ISUID | stat.S_ISGID


def entry(name, data=b"", *, kind=tarfile.REGTYPE, link="", mode=None, uid=0, gid=0, mtime=OLD, pax=None, size=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mtime = kind, link, mtime
    info.size = len(data) if size is None else size
    info.mode = mode if mode is not None else 0o755 if kind == tarfile.DIRTYPE else 0o644
    info.uid, info.gid, info.pax_headers = uid, gid, pax or {}
    return info.tobuf(tarfile.PAX_FORMAT) + data + b"\0" * (-len(data) % 512)


def directory(name, **more):
    return entry(name + "/", kind=tarfile.DIRTYPE, **more)


def symlink(name, target, **more):
    return entry(name, kind=tarfile.SYMTYPE, link=target, mode=0o777, **more)


def hard_link(name, target, **more):
    return entry(name, kind=tarfile.LNKTYPE, link=target, **more)


def gnu_tar(case, format_options, files):
    """Sparse files by GNU tar: {name: (size, {offset: data})}."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "t", case)
        folder.mkdir(parents=True)
        for name, (size, pieces) in files.items():
            with open(folder / name, "wb") as file:
                file.truncate(size)
                for offset, data in pieces.items():
                    file.seek(offset)
                    file.write(data)
            os.utime(folder / name, (OLD, OLD))
        os.utime(folder, (OLD, OLD))
        made = subprocess.run(["tar", "--create", "--blocking-factor=1", "--sparse", *format_options, "--numeric-owner", "-C", place,
                               *(f"t/{case}/{name}" for name in files)], check=True, capture_output=True).stdout
    return made.removesuffix(b"\0" * 1024)


MIB = 1 << 20
SPARSE = {"all-hole": (3 * MIB, {}), "trailing-hole": (2 * MIB, {0: b"data"}), "leading-hole": (MIB + 4, {MIB: b"tail"}),
          "holes": (5 * MIB, {0: b"a", 2 * MIB: b"b" * 5000, 4 * MIB: b"c"})}


@dataclasses.dataclass
class Case:
    lower: list
    upper: list
    like: tuple = SNAPSHOTTERS  # which of them Longshore must be like


def t(case):
    """Makes names of the case's own directory."""
    return lambda name: f"t/{case}/{name}"


def cases():
    every = {}

    def add(name, lower=(), upper=(), **more):
        every[name] = Case([directory(f"t/{name}"), *lower], list(upper), **more)

    p = t("file-over-file")
    add("file-over-file", [entry(p("x"), b"old", mode=0o600, uid=5)], [entry(p("x"), b"newer", mode=0o640, uid=7, gid=8)])
    p = t("file-over-directory")
    add("file-over-directory", [directory(p("x")), entry(p("x/y"), b"1")], [entry(p("x"), b"2")])
    p = t("directory-over-file")
    add("directory-over-file", [entry(p("x"), b"1")], [directory(p("x"), mode=0o750), entry(p("x/y"), b"2")])
    p = t("directory-over-symlink")
    add("directory-over-symlink", [directory(p("usr")), entry(p("usr/old"), b"1"), symlink(p("lib"), "usr")],
        [directory(p("lib"), mode=0o711), entry(p("lib/new"), b"2")])
    p = t("symlink-over-directory")
    add("symlink-over-directory", [directory(p("x")), entry(p("x/y"), b"1")], [symlink(p("x"), "elsewhere")])
    p = t("directory-over-directory")
    add("directory-over-directory", [directory(p("x"), mode=0o700, uid=3), entry(p("x/y"), b"1")],
        [directory(p("x"), mode=0o1777, uid=4, mtime=OLDER)])
    # overlayfs looks for the link in the upper layer only and makes a directory in its place.
    p = t("through-symlink")
    add("through-symlink", [directory(p("usr")), symlink(p("lib"), "usr"), symlink(p("abs"), "/" + p("usr"))],
        [entry(p("lib/relative"), b"1"), entry(p("abs/absolute"), b"2")], like=("native",))
    p = t("through-symlink-same-layer")
    add("through-symlink-same-layer", [directory(p("usr")), symlink(p("lib"), "usr"), entry(p("lib/x"), b"1"),
                                       symlink(p("up"), "../../../../.."), entry(p("up/" + p("usr/root")), b"2")])

    p = t("whiteout-file")
    add("whiteout-file", [entry(p("x"), b"1"), entry(p("y"), b"1")], [entry(p(".wh.x"))])
    p = t("whiteout-directory")
    add("whiteout-directory", [directory(p("x")), directory(p("x/y")), entry(p("x/y/z"), b"1")], [entry(p(".wh.x"))])
    p = t("whiteout-symlink")
    add("whiteout-symlink", [directory(p("x")), entry(p("x/y"), b"1"), symlink(p("s"), "x")], [entry(p(".wh.s"))])
    p = t("whiteout-missing")
    add("whiteout-missing", [entry(p("y"), b"1")], [entry(p(".wh.x"))])
    p = t("whiteout-then-create")
    add("whiteout-then-create", [directory(p("x")), entry(p("x/old"), b"1")],
        [entry(p(".wh.x")), directory(p("x"), mode=0o700), entry(p("x/new"), b"2")], like=("native",))
    p = t("whiteout-then-file")
    add("whiteout-then-file", [directory(p("x")), entry(p("x/old"), b"1")], [entry(p(".wh.x")), entry(p("x"), b"2")])
    p = t("whiteout-hard-link")
    add("whiteout-hard-link", [entry(p("x"), b"1"), hard_link(p("y"), p("x"))], [entry(p(".wh.x"))])

    lower = lambda p: [directory(p("d")), entry(p("d/old"), b"1"), directory(p("d/sub")), entry(p("d/sub/old"), b"1")]
    p = t("opaque-first")
    add("opaque-first", lower(p), [directory(p("d")), entry(p("d/.wh..wh..opq")), entry(p("d/new"), b"2")])
    p = t("opaque-last")
    add("opaque-last", lower(p), [directory(p("d")), entry(p("d/new"), b"2"), directory(p("d/sub")), entry(p("d/sub/new"), b"3"),
                                  entry(p("d/old"), b"replaced"), entry(p("d/.wh..wh..opq"))])
    p = t("opaque-last-plain")
    add("opaque-last-plain", lower(p), [directory(p("d")), entry(p("d/new"), b"2"), entry(p("d/.wh..wh..opq"))])
    # native forgets what the layer has placed below a directory that it has no entry for.
    p = t("opaque-last-implicit")
    add("opaque-last-implicit", lower(p), [directory(p("d")), entry(p("d/a/b/new"), b"2"), entry(p("d/.wh..wh..opq"))],
        like=("overlayfs",))
    p = t("opaque-hard-links")
    add("opaque-hard-links", lower(p), [directory(p("d")), entry(p("d/a"), b"2"), hard_link(p("d/b"), p("d/a")),
                                        entry(p("d/.wh..wh..opq"))])

    # containerd refuses GNU's own sparse entries (type S); layer_test.c has those.
    for version in ("0.0", "0.1", "1.0"):
        name = f"sparse-pax-{version}"
        add(name, [gnu_tar(name, ["--format=posix", f"--sparse-version={version}"], SPARSE)])
    add("sparse-over-file", [entry("t/sparse-over-file/all-hole", b"old")],
        [gnu_tar("sparse-over-file", ["--format=posix"], SPARSE)])

    p = t("times")
    add("times", [directory(p("d"), mtime=OLDER), entry(p("d/f"), b"1", mtime=OLDER), symlink(p("d/s"), "f", mtime=OLDER),
                  directory(p("d/later"), mtime=OLDER), entry(p("d/later/f"), b"2"), entry(p("epoch"), mtime=0),
                  entry(p("future"), mtime=4_000_000_000), entry(p("negative"), mtime=-5)])
    p = t("times-merged")
    add("times-merged", [directory(p("kept"), mtime=OLDER), entry(p("kept/f"), b"1"), directory(p("set")), entry(p("set/f"), b"1")],
        [directory(p("set"), mtime=OLDER), entry(p("set/new"), b"2")])
    p = t("times-replaced")
    add("times-replaced", [directory(p("x")), entry(p("x"), b"a file in the end")])

    p = t("hard-links")
    add("hard-links", [entry(p("a"), b"1", mode=0o600, uid=9), hard_link(p("b"), p("a"), mode=0o640, uid=10, mtime=OLDER),
                       symlink(p("s"), "a"), hard_link(p("s2"), p("s"))])
    p = t("hard-links-absolute")
    add("hard-links-absolute", [entry(p("a"), b"1"), hard_link(p("b"), "/" + p("a"))])
    # overlayfs needs the file in the same layer: with it in a lower one only, native can.
    p = t("hard-links-across-layers")
    add("hard-links-across-layers", [entry(p("a"), b"1")], [entry(p("a"), b"2"), hard_link(p("b"), p("a"))])
    p = t("hard-link-over-file")
    add("hard-link-over-file", [entry(p("a"), b"1"), entry(p("b"), b"2"), hard_link(p("b"), p("a"))])

    p = t("setid")
    add("setid", [entry(p("setuid"), b"1", mode=0o4755), entry(p("setgid"), b"1", mode=0o2755), directory(p("group"), mode=0o2775, gid=8),
                  directory(p("sticky"), mode=0o1777), directory(p("closed"), mode=0o555)])
    p = t("duplicates")
    add("duplicates", [entry(p("x"), b"first"), entry(p("x"), b"second", mode=0o600), directory(p("d"), mode=0o700),
                       directory(p("d"), mode=0o711, mtime=OLDER), entry(p("y"), b"1"), symlink(p("y"), "x")])
    p = t("names")
    add("names", [entry(p("system-systemd\\x2dcryptsetup.slice"), b"1"), entry(p("line\nfeed"), b"2"), entry(p("ümläut"), b"3"),
                  entry(p("n" * 255), b"4"), entry("/" + p("absolute"), b"5"), entry("./" + p("./dot//twice"), b"6"),
                  entry(p("/".join(["deep"] * 60)), b"7"), symlink(p("long"), "x" * 250)])
    p = t("xattrs")
    add("xattrs", [entry(p("x"), b"1", pax={"SCHILY.xattr.user.test": "value"})])
    return every


CASES = cases()


def gzipped(data):
    return oci.Blob(gzip.compress(data, 1, mtime=0), oci.LAYER)


def picture():
    base = images.busybox()
    lower = b"".join(b"".join(case.lower) for case in CASES.values()) + b"\0" * 1024
    upper = b"".join(b"".join(case.upper) for case in CASES.values()) + b"\0" * 1024
    return oci.stacked([base.layer, gzipped(directory("t") + lower), gzipped(upper)], entrypoint=["/bin/sh", "-c"],
                       env=["PATH=/bin"], architecture=images.ARCHITECTURE)


def describe(root, began):
    """What a program in the container can see of a tree: {path: everything}."""
    found, inodes = {}, {}
    for path in sorted(pathlib.Path(root).rglob("*")):
        info, name = path.lstat(), str(path.relative_to(root))
        kind = stat.S_IFMT(info.st_mode)
        mode = stat.S_IMODE(info.st_mode)
        # What Longshore leaves out on purpose (layer.h): setuid and setgid of files, since main can't gain privileges;
        # directories that their owner may not write to, since a plain user has to place later layers in them.
        mode = mode & ~SETID if kind == stat.S_IFREG else mode | 0o700 if kind == stat.S_IFDIR else None
        content = os.readlink(path) if kind == stat.S_IFLNK else path.read_bytes() if kind == stat.S_IFREG else None
        same = inodes.setdefault((info.st_dev, info.st_ino), name) if kind != stat.S_IFDIR else None
        when = "now" if info.st_mtime >= began else info.st_mtime_ns
        found[name] = {"kind": kind, "mode": mode and oct(mode), "owner": (info.st_uid, info.st_gid), "when": when, "same file as": same,
                       "content": content, "size": info.st_size if kind == stat.S_IFREG else None}
    return found


@pytest.fixture(scope="module")
def trees():
    """{who: {case: tree}} of one image."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="longshore-layers-"))
    place.chmod(0o755)
    whole = picture()
    began = time.time() - 1
    containerd = Containerd(place / "containerd")
    found = {}
    try:
        for snapshotter in SNAPSHOTTERS:
            with containerd.mounted(whole, snapshotter) as root:
                found[snapshotter] = {case: describe(root / "t" / case, began) for case in CASES}
        home = place / "home"
        home.mkdir()
        local = Local("root", home)
        local.write("image.tar", oci.archive(whole, "layers:1"))
        result = local.run_item(shell("true"), "--image", "oci-archive:image.tar")
        assert result.code == 0, result
        root, = (home / ".cache/longshore/images/rootfs").glob("*/root/t")
        found["longshore"] = {case: describe(root / case, began) for case in CASES}
        yield found
    finally:
        containerd.close()
        shutil.rmtree(place)


def is_lost_by_native(described, key):
    """native copies the lower layers for each further one, and its copy loses these; overlayfs shows them."""
    return ((key == "when" and described.get("kind") == stat.S_IFDIR) or
            (key == "same file as" and described.get("kind") == stat.S_IFLNK))


def differences(ours, theirs, snapshotter):
    for name in sorted({*ours, *theirs}):
        one, other = ours.get(name, {}), theirs.get(name, {})
        for key in sorted({*one, *other}):
            if snapshotter == "native" and is_lost_by_native(one, key):
                continue
            if one.get(key) != other.get(key):
                yield f"{name}: {key}: longshore {str(one.get(key))[:80]!r}, containerd {str(other.get(key))[:80]!r}"


@pytest.mark.parametrize("snapshotter", SNAPSHOTTERS)
@pytest.mark.parametrize("case", CASES)
def test_a_layer_is_unpacked_as_containerd_does(trees, case, snapshotter):
    found = list(differences(trees["longshore"][case], trees[snapshotter][case], snapshotter))
    if snapshotter in CASES[case].like:
        assert not found, "\n".join(found)
    else:
        # Otherwise the reason for the exception is gone: Longshore is like both.
        assert found, "no difference any more: remove the exception from the case"
