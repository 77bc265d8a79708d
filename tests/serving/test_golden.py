"""The format of model directories: one that is in the repository reads, labels and is written again, file by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.small_model import platt, small_model
from textcat.errors import BadDataError
from textcat.experiment.spec.experiment import RunSettings
from textcat.serving.categorizer import MODEL_FORMAT, read_categorizer, write_categorizer
from textcat.serving.document_files import NewDocument, read_documents
from textcat.serving.model_folders import CHECKSUMS
from textcat.serving.predict import predict_lines

GOLDEN = Path(__file__).parent / "golden"
MODEL, DOCUMENTS, ANSWERS = GOLDEN / "model", GOLDEN / "documents.jsonl", GOLDEN / "answers.jsonl"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


def test_the_golden_model_gives_the_golden_answers() -> None:
    categorizer = read_categorizer(MODEL)
    with DOCUMENTS.open("rb") as lines:
        documents = list(read_documents(lines, "jsonl", "documents.jsonl", categorizer.text.fields))
    answers = list(predict_lines(categorizer, documents, every_category=True))
    assert answers == ANSWERS.read_text(encoding="utf-8").splitlines()


def test_a_model_is_written_as_the_golden_one(tmp_path: Path) -> None:
    write_categorizer(tmp_path / "model", small_model(calibration=platt()))
    names = sorted(path.name for path in MODEL.iterdir())
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == names
    for name in set(names) - {CHECKSUMS}:
        ours, golden = tmp_path / "model" / name, MODEL / name
        if name.endswith(".json"):
            assert facts_of(ours) == facts_of(golden)
        else:
            np.testing.assert_array_equal(np.load(ours), np.load(golden), strict=True)


def facts_of(path: Path) -> dict[str, Any]:
    """The data of a JSON file, the run's settings with what is new among them at its default."""
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts | ({"run": RunSettings.model_validate(facts["run"])} if "run" in facts else {})


def test_the_page_names_every_file_and_the_format() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"format {MODEL_FORMAT}" in page
    facts = json.loads((MODEL / "categorizer.json").read_text())
    for name in [path.name for path in MODEL.iterdir()] + [f"`{key}`" for key in facts]:
        assert name in page, name


@pytest.mark.parametrize(
    ("made_for", "message"),
    [(1, "has format 1, not 2"), (99, "has format 99, not 2"), ("two", "not a model")],
)
def test_a_model_of_another_format_is_refused(tmp_path: Path, made_for: object, message: str) -> None:
    write_categorizer(tmp_path / "m", small_model())
    facts = json.loads((tmp_path / "m" / "categorizer.json").read_text())
    (tmp_path / "m" / "categorizer.json").write_text(json.dumps(facts | {"format": made_for}))
    with pytest.raises(BadDataError, match=message) as caught:
        read_categorizer(tmp_path / "m")
    assert caught.value.where == str(tmp_path / "m")
    assert "textcat train" in caught.value.hint


def test_the_golden_answers_are_right() -> None:
    """By hand: wheat and corn give 2 + 1 - 1 = 2 for grain and -1 - 0.5 for ships."""
    scores = read_categorizer(MODEL).scores(
        [NewDocument("1", {"title": "Wheat,", "body": "corn corn Xylophone"})]
    )
    assert scores.tolist() == [[2.0, -1.5]]
    first = json.loads(ANSWERS.read_text(encoding="utf-8").splitlines()[0])
    assert first["labels"] == ["grain"]
    assert first["probabilities"]["grain"] == pytest.approx(1 / (1 + np.exp(-4.0)), rel=1e-5)
