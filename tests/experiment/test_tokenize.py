"""Each document is read once when terms are counted: categories and random sides follow from the same pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from textcat.corpora import open_corpus
from textcat.corpora.collections import reuters21578
from textcat.corpora.own.documents import OwnDocuments
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.tokenize import Counts, make_tokenize_step, read_counts
from textcat.text.text_settings import TextSettings


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents' ids, in the order in which their readers read them, and read them again."""
    found: list[str] = []

    def watch(owner: Any, name: str, describe: Any) -> None:
        original = getattr(owner, name)

        def watched(*args: Any, **settings: Any) -> Iterator[Any]:
            for item in original(*args, **settings):
                found.append(describe(item))
                yield item

        monkeypatch.setattr(owner, name, watched)

    watch(reuters21578, "read_sgml_records", lambda record: str(record.number))
    watch(OwnDocuments, "_read", lambda item: (item[1] if isinstance(item, tuple) else item).id)
    return found


def count(name: str, path: Path, **options: Any) -> Counts:
    corpus = {"name": name, "options": options}
    experiment = Experiment.model_validate({"corpus": corpus, "runs": {"bayes": {"learner": "naive_bayes"}}})
    fields = ["body"] if name == "reuters21578" else ["text"]
    fingerprint = open_corpus(name, path, **options).fingerprint()
    step = make_tokenize_step(experiment, TextSettings(fields=fields), path, fingerprint)
    return read_counts(step.build_folder(RunContext(path.parent / "data")))


def write_table(folder: Path) -> Path:
    rows = [f"d{k},text {k},{'b' if k % 3 else 'a'},{'train' if k % 2 else 'test'}" for k in range(30)]
    (folder / "own.csv").write_text("\n".join(["id,text,label,side", *rows]) + "\n")
    return folder / "own.csv"


@pytest.mark.parametrize("options", [{"side": "side"}, {}, {"ratio": None}, {"categories": ["b", "a"]}])
def test_a_table_is_read_once_with_the_sides_and_categories_of_the_reader(
    options: dict[str, Any], tmp_path: Path, reads: list[str]
) -> None:
    path = write_table(tmp_path)
    counts = count("csv", path, id="id", **options)
    assert reads == [f"d{k}" for k in range(30)]
    opened = open_corpus("csv", path, id="id", **options)
    documents = list(opened.documents())
    assert counts.documents.ids == [document.id for document in documents]
    assert counts.documents.split == [document.split for document in documents]
    assert counts.documents.labels == [document.labels for document in documents]
    assert tuple(counts.categories) == opened.categories
