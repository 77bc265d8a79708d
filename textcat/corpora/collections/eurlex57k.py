"""EURLEX57K: laws of the European Union with EuroVoc concepts (Chalkidis et al., 2019)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from textcat.corpora.collection_files import TreeCorpus, make_damage_error, parse_json_object
from textcat.corpora.document import CountingCorpus, Document, Split

CONCEPTS_FILE = "eurovoc_en.json"
PARTS = ("train", "dev", "test")
TEXT_FIELDS = ("title", "header", "recitals")
# The side of each folder, by split.
SPLITS: dict[str, dict[str, Split]] = {
    "train+dev": {"train": "train", "dev": "train", "test": "test"},
    "train": {"train": "train", "dev": "unused", "test": "test"},
    "development": {"train": "train", "dev": "test", "test": "unused"},
}


class Eurlex57k(TreeCorpus, CountingCorpus):
    """One document per law, with the fields title, header, recitals and main_body.

    With `labels="id"` labels are the EuroVoc numbers of concepts; with `labels="name"` they are their English names,
    if the collection has eurovoc_en.json.
    """

    name = "eurlex57k"

    def __init__(self, folder: Path, *, split: str = "train+dev", labels: str = "id") -> None:
        super().__init__(folder)
        self.sides = SPLITS[split]
        self.labels = labels

    @cached_property
    def laws(self) -> list[str]:
        """PART/CELEX.json of each law: train, dev, test, and by CELEX number within each."""
        found = [name for name in self.tree.names if name.partition("/")[0] in PARTS and name.count("/") == 1]
        return sorted(found, key=lambda name: (PARTS.index(name.partition("/")[0]), name))

    @cached_property
    def concept_names(self) -> Mapping[str, str]:
        """The English name of each concept by its number; nothing without eurovoc_en.json."""
        if CONCEPTS_FILE not in self.tree.names:
            return {}
        where = f"{self.tree.folder}: {CONCEPTS_FILE}"
        concepts = parse_json_object(next(iter(self.tree.contents([CONCEPTS_FILE]))), where)
        try:
            return {number: str(concept["label"]).strip() for number, concept in concepts.items()}
        except (TypeError, KeyError) as error:
            raise make_damage_error(f"a concept without a label ({error})", where) from error

    def documents(self) -> Iterator[Document]:
        """Yield the laws of all three parts."""
        names = self.concept_names if self.labels == "name" else {}
        for name, content in zip(self.laws, self.tree.contents(self.laws), strict=True):
            part, _, file = name.partition("/")
            where = f"{self.tree.folder}: {name}"
            law = parse_json_object(content, where)
            concepts = tuple(names.get(number, number) for number in _read_texts(law, "concepts", where))
            yield Document(
                file.removesuffix(".json"), _read_fields(law, where), concepts, self.sides[part], where
            )


def _read_texts(law: Mapping[str, Any], key: str, where: str) -> list[str]:
    """Return a list of strings of a law."""
    found = law.get(key)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise make_damage_error(f"{key} is not a list of strings", where)
    return found


def _read_fields(law: Mapping[str, Any], where: str) -> dict[str, str]:
    fields = {key: law.get(key) for key in TEXT_FIELDS}
    if wrong := next((key for key, value in fields.items() if not isinstance(value, str)), None):
        raise make_damage_error(f"{wrong} is not a string", where)
    return {**{key: str(value) for key, value in fields.items()},
            "main_body": "\n".join(_read_texts(law, "main_body", where))}  # fmt: skip


def count_eurlex57k(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Eurlex57k(folder)
    parts = Counter(name.partition("/")[0] for name in corpus.laws)
    concepts = {label for document in corpus.documents() for label in document.labels}
    return {**{f"{part} documents": parts[part] for part in PARTS}, "concepts": len(concepts)}
