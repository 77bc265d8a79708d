"""Unpacking archives that are damaged, too large, or try to write where they must not."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.loops import for_each
from textcat.corpora.fetch import archives
from textcat.corpora.fetch.archives import FolderSink, Placement
from textcat.errors import BadDataError


def unpack(archive: Path, folder: Path, place: Placement, *, max_bytes: int) -> int:
    folder.mkdir(exist_ok=True)
    return archives.unpack_archive(archive, FolderSink(folder), place, max_bytes=max_bytes)


def everything(path: PurePosixPath) -> PurePosixPath:
    return path


def tar(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def found(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@for_each("pack", [tar, zipped])
def test_regular_files_are_unpacked(tmp_path: Path, pack) -> None:
    archive = pack(tmp_path / "x", {"./a/b.txt": b"one", "c.txt": b"", "a/^~ odd": b"two"})
    assert unpack(archive, tmp_path / "out", everything, max_bytes=100) == 3
    assert found(tmp_path / "out") == {"a/b.txt": b"one", "c.txt": b"", "a/^~ odd": b"two"}


def test_placement_chooses_and_renames(tmp_path: Path) -> None:
    archive = tar(tmp_path / "x.tar.gz", {"a/keep.txt": b"1", "a/drop.bin": b"2"})

    def place(path: PurePosixPath) -> PurePosixPath | None:
        return PurePosixPath("kept", path.name) if path.suffix == ".txt" else None

    assert unpack(archive, tmp_path / "out", place, max_bytes=100) == 1
    assert found(tmp_path / "out") == {"kept/keep.txt": b"1"}


def test_a_nested_archive_is_unpacked(tmp_path: Path) -> None:
    inner = tar(tmp_path / "inner.tar.gz", {"deep.txt": b"deep"})
    outer = zipped(tmp_path / "outer.zip", {"inner.tar.gz": inner.read_bytes(), "beside.txt": b"x"})
    unpack(outer, tmp_path / "out", everything, max_bytes=10_000)
    assert found(tmp_path / "out") == {"deep.txt": b"deep", "beside.txt": b"x"}


@for_each("name", ["../out.txt", "/etc/out.txt", "a/../../out.txt"])
@for_each("pack", [tar, zipped])
def test_paths_that_escape_are_refused(tmp_path: Path, pack, name: str) -> None:
    archive = pack(tmp_path / "x", {name: b"evil"})
    with pytest.raises(BadDataError, match="outside the folder"):
        unpack(archive, tmp_path / "out", everything, max_bytes=100)
    assert found(tmp_path) == {"x": archive.read_bytes()}


@for_each(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc/passwd"),
        special("link", tarfile.SYMTYPE, "inside.txt"),
        special("hard", tarfile.LNKTYPE, "../x"),
        special("device", tarfile.CHRTYPE),
        special("pipe", tarfile.FIFOTYPE),
    ],
)
def test_links_and_devices_are_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    archive = tar(tmp_path / "x.tar.gz", {member.name: member})
    with pytest.raises(BadDataError, match="link or a device"):
        unpack(archive, tmp_path / "out", everything, max_bytes=100)


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(BadDataError, match="link or a device"):
        unpack(tmp_path / "x.zip", tmp_path / "out", everything, max_bytes=100)


@for_each("pack", [tar, zipped])
def test_too_many_bytes_are_refused(tmp_path: Path, pack) -> None:
    archive = pack(tmp_path / "x", {"a": bytes(60), "b": bytes(60)})
    assert unpack(archive, tmp_path / "fits", everything, max_bytes=120) == 2
    with pytest.raises(BadDataError, match="larger"):
        unpack(archive, tmp_path / "out", everything, max_bytes=119)


def test_a_nested_bomb_is_refused(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "bomb.zip", {"zeros.tar": bytes(5_000_000)})
    with pytest.raises(BadDataError, match="larger"):
        unpack(bomb, tmp_path / "out", everything, max_bytes=1_000_000)


@for_each("keep", [0, 10, 50, -5])
@for_each("pack", [tar, zipped])
def test_a_damaged_archive_is_bad_data(tmp_path: Path, pack, keep: int) -> None:
    content = bytes(range(256)) * 40
    archive = pack(tmp_path / "x", {"a": content, "b": content[::-1]})
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(BadDataError, match="damaged"):
        unpack(archive, tmp_path / "out", everything, max_bytes=10**6)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<html>You need to sign in first</html>" * 50)
    with pytest.raises(BadDataError, match="damaged"):
        unpack(tmp_path / "page.html", tmp_path / "out", everything, max_bytes=100)


def header_bomb(path: Path, kind: bytes, size: int) -> Path:
    """A tar whose extended header, which readers hold in memory, is nothing but zeros."""
    info = special("header", kind)
    info.size = size
    with gzip.open(path, "wb", 1) as packed:
        packed.write(info.tobuf(tarfile.GNU_FORMAT))
        for _ in range(size >> 20):
            packed.write(bytes(1 << 20))
    return path


@for_each("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_bomb_in_a_header_is_refused_before_it_fills_the_memory(tmp_path: Path, kind: bytes) -> None:
    bomb = header_bomb(tmp_path / "x.tar.gz", kind, 300 << 20)
    assert bomb.stat().st_size < 2 << 20
    tracemalloc.start()
    with pytest.raises(BadDataError, match="header is too large"):
        unpack(bomb, tmp_path / "out", everything, max_bytes=10**9)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_skipped_members_count_as_bytes(tmp_path: Path) -> None:
    archive = tar(tmp_path / "x.tar.gz", {"unwanted": bytes(5_000_000), "wanted": b"1"})
    with pytest.raises(BadDataError, match="larger"):
        unpack(
            archive, tmp_path / "out", lambda path: path if path.name == "wanted" else None, max_bytes=10_000
        )
