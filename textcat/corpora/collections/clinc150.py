"""CLINC150: queries to a task-oriented assistant, of 150 intents or out of scope (Larson et al., 2019)."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.cards import combine_hashes
from textcat.corpora.collection_files import find_files, is_writable, make_damage_error, parse_json_object
from textcat.corpora.document import CountingCorpus, Document, Split

QUERIES_FILE = "data_full.json"
PARTS = ("train", "val", "test")
# The side of each part, by split.
SPLITS: dict[str, dict[str, Split]] = {
    "train": {"train": "train", "val": "unused", "test": "test"},
    "train+val": {"train": "train", "val": "train", "test": "test"},
    "development": {"train": "train", "val": "test", "test": "unused"},
}
# Larger than the file of any variant of the collection.
_MAX_BYTES = 1 << 26

Query = tuple[str, str]


class Clinc150(CountingCorpus):
    """One document per query, with the field text and one label, its intent.

    With `out_of_scope="class"` the queries of no intent are documents too, labelled `oos`.
    """

    name = "clinc150"

    def __init__(self, folder: Path, *, split: str = "train", out_of_scope: str = "dropped") -> None:
        self.folder = folder
        self.sides = SPLITS[split]
        self.kinds = ("", "oos_") if out_of_scope == "class" else ("",)

    @cached_property
    def _content(self) -> tuple[str, bytes]:
        """The path of the file and its contents, decompressed."""
        path = find_files(self.folder, QUERIES_FILE, f"{QUERIES_FILE}.gz")[0]
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
            raise make_damage_error(f"cannot decompress the file ({problem})", str(path)) from problem
        if len(content) > _MAX_BYTES:
            raise make_damage_error(f"the file is larger than {_MAX_BYTES:,} bytes", str(path))
        return str(path), content

    @cached_property
    def queries(self) -> dict[str, list[Query]]:
        """Text and intent of each query, by part: train, val, test, oos_train, oos_val, oos_test."""
        path, content = self._content
        found = parse_json_object(content, path)
        return {
            part: _read_part(found.get(part), f"{path}: {part}")
            for part in (f"{kind}{each}" for kind in ("", "oos_") for each in PARTS)
        }

    def documents(self) -> Iterator[Document]:
        """Yield the queries of train, val and test, each followed by its queries out of scope if they are used."""
        for part in PARTS:
            for kind in self.kinds:
                name = f"{kind}{part}"
                for number, (text, intent) in enumerate(self.queries[name], 1):
                    yield Document(
                        f"{name}-{number}",
                        {"text": text},
                        (intent,),
                        self.sides[part],
                        f"{self._content[0]}: {name}, {number}",
                    )

    def fingerprint(self) -> str:
        """Return the sha256 over the name and the decompressed contents of the file."""
        return combine_hashes([(QUERIES_FILE, hashlib.sha256(self._content[1]).hexdigest())])


def _read_part(found: object, where: str) -> list[Query]:
    """Return the queries of one part, a list of [text, intent]."""
    if not isinstance(found, list):
        raise make_damage_error("not a list of queries", where)
    for number, each in enumerate(found, 1):
        if not (
            isinstance(each, list)
            and len(each) == 2
            and all(isinstance(text, str) and is_writable(text) for text in each)
        ):
            raise make_damage_error("not a pair of text and intent", f"{where}, {number}")
    return [(text, intent) for text, intent in found]


def count_clinc150(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    queries = Clinc150(folder).queries
    intents = Counter(intent for part in PARTS for _, intent in queries[part])
    return {**{f"{part} queries": len(found) for part, found in queries.items()}, "intents": len(intents)}
