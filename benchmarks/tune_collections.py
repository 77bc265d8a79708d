"""Six collections for `python -m benchmarks tune`, read from a folder of their downloaded files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from textcat.corpora import fetch_corpus, open_corpus
from textcat.errors import DataNotAvailableError
from textcat.splits import draw_training_mask
from textcat.store.files import write_atomically

# Training documents for each test document where a collection has no split of its own, and the seed of the split.
RATIO, SEED = 4.0, 1


@dataclass(frozen=True)
class Record:
    """A document with its labels and its side of the split."""

    text: str
    labels: tuple[str, ...]
    side: str


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with their labels, documents x categories."""

    texts: list[str]
    labels: NDArray[np.bool_]


@dataclass(frozen=True)
class TuneTask:
    """A collection as a table, and as texts for the peer."""

    name: str
    table: Path
    single_label: bool
    train: LabelledTexts
    test: LabelledTexts


def write_table(records: Sequence[Record], path: Path) -> Path:
    """Write the records as JSON Lines and return the path."""
    lines = [
        json.dumps({"text": record.text, "labels": list(record.labels), "side": record.side})
        for record in records
    ]
    write_atomically(path, "\n".join(lines) + "\n")
    return path


def _find_file(files: Path, name: str) -> Path:
    path = files / name
    if not path.is_file():
        raise DataNotAvailableError(
            "there is no such file", where=str(path), hint="Name its folder with --mirror."
        )
    return path


def _read_banking77(files: Path) -> list[Record]:
    """Return the questions of BANKING77 (train.csv and test.csv)."""
    records = []
    with tarfile.open(_find_file(files, "banking77.tar.gz")) as archive:
        for member in archive.getmembers():
            side = Path(member.name).stem
            stream = archive.extractfile(member) if side in ("train", "test") else None
            if stream is not None:
                rows = csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))
                records += [Record(row["text"], (row["category"],), side) for row in rows]
    return records


def _read_clinc150(files: Path) -> list[Record]:
    """Return the in-scope queries of CLINC150; training and validation queries are for training."""
    with gzip.open(_find_file(files, "clinc150_data_full.json.gz"), "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    sides = {"train": "train", "val": "train", "test": "test"}
    return [Record(text, (label,), side) for name, side in sides.items() for text, label in data[name]]


def _read_corpus(name: str, split: str | None = None) -> Callable[[Path], list[Record]]:
    """Return the reader of a collection that textcat knows; without a split of its own one is drawn by the seed."""

    def read(files: Path) -> list[Record]:
        with TemporaryDirectory() as folder:
            fetched = fetch_corpus(name, Path(folder), mirror=files, offline=True)
            records = [
                Record("\n".join(document.fields.values()), tuple(document.labels), document.split)
                for document in open_corpus(name, fetched.folder, split=split).documents()
                if document.labels and document.split != "unused"
            ]
        if all(record.side == "train" for record in records):
            mask = draw_training_mask(len(records), seed=SEED, ratio=RATIO)
            records = [
                Record(record.text, record.labels, "train" if is_train else "test")
                for record, is_train in zip(records, mask, strict=True)
            ]
        return records

    return read


def _read_reuters90(files: Path) -> list[Record]:
    """Return the documents of the ModApte split with the 90 topics that have training and test documents."""
    records = _read_corpus("reuters21578", "modapte")(files)
    sides = [
        {label for record in records if record.side == side for label in record.labels}
        for side in ("train", "test")
    ]
    kept = sides[0] & sides[1]
    found = [
        Record(each.text, tuple(label for label in each.labels if label in kept), each.side)
        for each in records
    ]
    return [record for record in found if record.labels]


# The function that reads each collection from a folder of files.
COLLECTIONS: dict[str, Callable[[Path], list[Record]]] = {
    "banking77": _read_banking77,
    "clinc150": _read_clinc150,
    "webkb": _read_corpus("webkb"),
    "20newsgroups": _read_corpus("20newsgroups"),
    "ohsumed-23": _read_corpus("ohsumed-23"),
    "reuters-90": _read_reuters90,
}
