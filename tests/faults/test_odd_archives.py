"""Archives that name a member twice, lie about sizes, overlap or are sparse: refused, within bounds of memory."""

from __future__ import annotations

import io
import random
import struct
import tarfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from tests.loops import for_each
from textcat.corpora.collection_files import PACKED_FILE, DocumentTree
from textcat.corpora.fetch.archives import FolderSink, open_zip_sink, unpack_archive
from textcat.errors import BadDataError

MOST = 100_000


def unpack(archive: Path, folder: Path) -> int:
    folder.mkdir(exist_ok=True)
    return unpack_archive(archive, FolderSink(folder), lambda path: path, max_bytes=MOST)


def write_tar(path: Path, *names: str) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            content = b"%d" % number
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_zip(path: Path, *names: str) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        for number, name in enumerate(names):
            archive.writestr(name, b"%d" % number)


@for_each("write", [write_tar, write_zip])
@for_each("names", [("a/x", "b", "a/x"), ("a/x", "./a/x"), ("a//x", "a/x")])
def test_a_member_named_twice_is_refused(
    tmp_path: Path, write: Callable[..., None], names: tuple[str, ...]
) -> None:
    write(tmp_path / "archive", *names)
    with pytest.raises(BadDataError, match="two members are named"):
        unpack(tmp_path / "archive", tmp_path / "out")
    with (
        pytest.raises(BadDataError, match="two members are named"),
        open_zip_sink(tmp_path / "packed.zip") as sink,
    ):
        unpack_archive(tmp_path / "archive", sink, lambda path: path, max_bytes=MOST)


def test_members_that_are_kept_under_one_name_are_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "archive", "one/page", "two/page")
    with pytest.raises(BadDataError, match="two members are named 'page'"):
        unpack_archive(
            tmp_path / "archive", FolderSink(tmp_path), lambda path: PurePosixPath(path.name), max_bytes=MOST
        )


def test_documents_of_one_name_are_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / PACKED_FILE, "grain/1", "grain/1")
    with pytest.raises(BadDataError, match="two documents of the archive have one name"):
        _ = DocumentTree(tmp_path).names


def test_a_zip_whose_sizes_lie_gives_no_more_than_it_states(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "archive", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(50_000_000))
    content = (tmp_path / "archive").read_bytes()
    (tmp_path / "archive").write_bytes(content.replace(struct.pack("<I", 50_000_000), struct.pack("<I", 100)))
    tracemalloc.start()
    with pytest.raises(BadDataError):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) <= 100


def test_members_that_share_their_bytes_are_counted_each(tmp_path: Path) -> None:
    """One kernel of zeros, named by many entries of the directory."""
    with zipfile.ZipFile(tmp_path / "archive", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb000", bytes(20_000))
        first = archive.infolist()[0]
        for number in range(1, 100):
            entry = zipfile.ZipInfo(f"bomb{number:03}")
            for name in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(entry, name, getattr(first, name))
            archive.filelist.append(entry)
            archive.NameToInfo[entry.filename] = entry
            archive._didModify = True
    assert (tmp_path / "archive").stat().st_size < 20_000
    with pytest.raises(BadDataError):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) <= MOST


def test_a_sparse_member_counts_as_large_as_it_says(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("sparse")
        info.pax_headers = {
            "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.numblocks": "1",
            "GNU.sparse.map": "0,1", "GNU.sparse.size": str(10**15),
        }  # fmt: skip
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(BadDataError):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@for_each("write", [write_tar, write_zip])
def test_any_changed_byte_is_refused_or_harmless(tmp_path: Path, write: Callable[..., None]) -> None:
    write(tmp_path / "archive", "a/x", "b", "c")
    sound = (tmp_path / "archive").read_bytes()
    draw = random.Random(3)
    for _ in range(400):
        damaged = bytearray(sound)
        damaged[draw.randrange(len(sound))] = draw.randrange(256)
        (tmp_path / "archive").write_bytes(damaged)
        try:
            unpack(tmp_path / "archive", tmp_path / "out")
        except BadDataError as error:
            assert error.where
        except OSError:
            pass  # A name that the disk refuses, such as a file where a folder is.
    outside = {path.name for path in tmp_path.iterdir()} - {"archive", "out"}
    assert outside == set()
