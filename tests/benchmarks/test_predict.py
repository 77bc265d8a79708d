"""The predict benchmark: its input files, and its rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import predict as bench
from textcat.corpora import Document
from textcat.serving.document_files import read_documents
from textcat.serving.predict import predict_lines

WORDS = {"grain": ["wheat", "corn", "oats"], "ships": ["port", "vessel", "cargo"]}


def make_documents(number: int) -> list[Document]:
    generator = np.random.default_rng(1)
    documents = []
    for n in range(number):
        label = ["grain", "ships"][n % 2]
        body = " ".join([*generator.choice(WORDS[label], 3), *generator.choice(["the", "of", "rate"], 5)])
        split = "test" if n % 4 > 1 else "train"
        documents.append(Document(str(n), {"title": label, "body": body}, (label,), split))
    return documents


@pytest.mark.parametrize("form", ["jsonl", "csv", "lines"])
def test_every_format_holds_the_same_words(form) -> None:
    documents = make_documents(40)
    model = bench.train_categorizer(documents)
    texts = [document.fields for document in documents]
    lines = bench.format_lines(texts, form, model.text.fields)
    answers = predict_lines(model, read_documents(lines, form, "x", model.text.fields))
    assert [json.loads(line)["labels"] for line in answers] == [list(d.labels) for d in documents]


def test_rows_are_measured_and_json(monkeypatch) -> None:
    monkeypatch.setattr(bench, "LEAST_DOCUMENTS", 100)
    rows = list(bench.bench_predict(make_documents(40), repeats=1))
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert [row["format"] for row in rows] == ["jsonl", "csv", "lines", "jsonl", "jsonl", "jsonl"]
    assert [row["number"] for row in rows] == [120] * 4 + [20] * 2
    for row in rows:
        assert row["documents_per_second"] == pytest.approx(row["number"] / row["seconds"], rel=0.5)
        assert row["ratio"] > 0


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    monkeypatch.setattr(bench, "LEAST_DOCUMENTS", 100)
    row = next(bench.bench_predict(make_documents(40), repeats=1))
    assert (row["peer_seconds"], row["ratio"]) == (None, None)
    assert row["documents_per_second"] > 0


def test_a_variant_can_be_measured_alone() -> None:
    (chosen,) = (each for each in bench.VARIANTS if each.name == "whole documents, jsonl, all categories")
    (row,) = bench.bench_predict(make_documents(40), [chosen], repeats=1)
    assert (row["documents"], row["format"], row["numbers of"]) == (
        "whole documents", "jsonl", "all categories",
    )  # fmt: skip
