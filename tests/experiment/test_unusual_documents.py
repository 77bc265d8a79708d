"""Documents with nothing to learn, or categories that cannot be learned or tested, are reported."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.experiment.own_table import carried_out, results_of
from tests.loops import for_each
from textcat.corpora.own.inspect import inspect_documents
from textcat.errors import BadDataError, StageFailedError, UsageError

RUNS = {"bayes": {"learner": "naive_bayes"}}
GRAIN = "wheat and corn from the farm"
MONEY = "the bank made a new loan"


def write(folder: Path, rows: list[tuple[str, str, str]], header: str = "text,labels,split\n") -> Path:
    path = folder / "documents.csv"
    path.write_text(header + "".join(f"{','.join(row)}\n" for row in rows))
    return path


def many(*rows: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    return list(rows) * 10


def run(folder: Path, **corpus: object) -> None:
    options = {"label": "labels", "side": "split"}
    carried_out(folder, {"runs": RUNS, "corpus": {"single_label": True, "options": options, **corpus}})


def test_one_category_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, many((GRAIN, "grain", "train"), (GRAIN, "grain", "test")))
    with pytest.raises(BadDataError, match="'grain': there is nothing to learn"):
        inspect_documents(path)
    with pytest.raises(BadDataError, match="every training document has the label 'grain'"):
        run(tmp_path)


def test_categories_that_cannot_be_learned_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = many((GRAIN, "grain", "train"), (MONEY, "money", "train"), (MONEY, "money", "test"))
    path = write(tmp_path, [*known, (GRAIN, "once", "train"), (MONEY, "unseen", "test")])
    report = "\n".join(inspect_documents(path).report)
    assert (
        "2 categories have a single document, which cannot be both learned and tested: once, unseen" in report
    )
    assert "1 category of test documents has no training document: unseen" in report
    logging.getLogger("textcat").propagate = True
    with caplog.at_level(logging.WARNING, logger="textcat"):
        run(tmp_path)
    assert "1 of 4 categories is only in test documents: not learned" in caplog.text
    assert "(unseen)" in caplog.text
    assert "1 of 4 categories is in a single training document: too few to learn from (once)" in caplog.text


def test_a_category_without_test_documents_is_no_part_of_macro_f1(tmp_path: Path) -> None:
    known = many((GRAIN, "grain", "train"), (MONEY, "money", "train"), (MONEY, "grain", "test"))
    write(tmp_path, [*known, (MONEY, "money", "test"), ("ships in the port", "ships", "train")])
    corpus = {"single_label": True, "options": {"label": "labels", "side": "split"}}
    found = {}
    for zero in ("skip", 1):
        settings = {"runs": RUNS, "corpus": corpus, "evaluation": {"zero_division": zero}}
        found[zero] = results_of(tmp_path, settings)["runs"]["bayes"]["measures"]["macro.f1"]
    assert found["skip"] < found[1]


@for_each(
    "rows",
    [many((GRAIN, "grain", "a"), (MONEY, "money", "b")), many(("rain", "grain", "x"), ("sun", "money", "x"))],
)
def test_a_table_without_a_header_is_refused(rows: list[tuple[str, str, str]], tmp_path: Path) -> None:
    path = write(tmp_path, rows, header="")
    with pytest.raises(UsageError) as caught:
        inspect_documents(path)
    assert "such as text" in caught.value.hint
    assert inspect_documents(
        write(tmp_path, many((GRAIN, "grain", "train"), (MONEY, "money", "test")))
    ).counts.used


@for_each(
    ("names", "content", "message"),
    [
        ([], b"", "its folders have no files"),
        (["a/x.png", "b/y.png"], b"\x89PNG\0\0", "not text"),
        (["a/x.txt", "a/y.txt"], b"words", "there is nothing to learn"),
    ],
)
def test_a_folder_that_is_no_collection(
    names: list[str], content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "folder" / "a" / "empty").mkdir(parents=True)
    for name in names:
        (tmp_path / "folder" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(content)
    with pytest.raises(BadDataError, match=message):
        inspect_documents(tmp_path / "folder")


def test_a_run_on_a_folder_without_documents_says_so(tmp_path: Path) -> None:
    write(tmp_path, [])
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "readme.txt").write_text("no class")
    with pytest.raises(StageFailedError, match="there are no documents in folder") as caught:
        run(tmp_path, name="folders", path="folder", options={})
    assert "a folder for each class" in caught.value.hint
