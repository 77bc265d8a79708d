"""Documents labelled by threads, processes or Dask workers have the same answers, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.serving.small_model import TERMS, platt, small_model
from textcat.cli.main import group
from textcat.errors import BadDataError
from textcat.parallel import start_workers
from textcat.serving.categorizer import read_categorizer, write_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.predict import Coverage, StoredModel, _load_stored_model, predict_lines

BACKENDS = ("threads", "processes", "dask")


@pytest.fixture(scope="module", params=BACKENDS)
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "dask":
        pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")
    with start_workers(request.param, 2) as found:
        yield found


def make_documents(number: int) -> list[NewDocument]:
    draw = np.random.default_rng(3)
    texts = [" ".join(draw.choice([*TERMS, "unknown"], draw.integers(0, 4))) for _ in range(number)]
    return [NewDocument(f"d{n}", {"title": "", "body": text}) for n, text in enumerate(texts)]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("rule", ["default", "pcut"])
def test_answers_have_the_same_bytes(executor: Any, rule: str, every: bool) -> None:
    model = small_model(calibration=platt(), threshold={"rule": rule})
    documents, alone, together = make_documents(41), Coverage(), Coverage()
    expected = list(predict_lines(model, documents, every_category=every, at_a_time=3, coverage=alone))
    found = predict_lines(
        model, iter(documents), every_category=every, at_a_time=3, coverage=together, executor=executor
    )
    assert list(found) == expected
    assert together == alone
    assert 0 < alone.unknown < alone.documents == 41


def test_few_documents_are_read_ahead_and_those_before_an_error_are_answered(executor: Any) -> None:
    documents, read = make_documents(200), []

    def come() -> Iterator[NewDocument]:
        for document in documents:
            read.append(document)
            yield document
        raise BadDataError("broken", where="line 201")

    model = small_model()
    lines = predict_lines(model, come(), at_a_time=2, executor=executor)
    first = next(lines)
    assert len(read) < 50
    with pytest.raises(BadDataError, match="broken"):
        for line in lines:
            last = line
    assert json.loads(first)["id"] == "d0"
    assert json.loads(last)["id"] == "d199"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", [(), ("--scores", "--at-a-time", "4")])
def test_the_command_prints_the_same_with_each_backend(
    backend: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    if backend == "dask":
        pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")
    write_categorizer(tmp_path / "model", small_model(calibration=platt()))
    lines = [json.dumps({"id": each.id, **each.fields}) for each in make_documents(30)]
    (tmp_path / "new.jsonl").write_text("\n".join([*lines, "broken"]))
    command = [
        "predict",
        str(tmp_path / "model"),
        str(tmp_path / "new.jsonl"),
        "--on-error",
        "skip",
        *options,
    ]
    alone = CliRunner().invoke(group, command)
    together = CliRunner().invoke(group, [*command, "--backend", backend, "--jobs", "2"])
    assert alone.exit_code == together.exit_code == 0
    assert together.stdout == alone.stdout
    assert len(together.stdout.splitlines()) == 30
    assert "1 document was skipped" in together.stderr


def test_a_worker_refuses_a_model_that_was_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_categorizer(folder, small_model())
    stored = StoredModel(folder, read_categorizer(folder).checksum)
    assert _load_stored_model(stored).categories == small_model().categories
    for path in folder.iterdir():
        path.unlink()
    write_categorizer(folder, small_model(calibration=platt()))
    _load_stored_model.cache_clear()
    with pytest.raises(BadDataError, match="was replaced"):
        _load_stored_model(stored)
