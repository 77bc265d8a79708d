"""The predict benchmark: its input files, and its rows."""

from __future__ import annotations

import json

import numpy as np

from benchmarks import predict as bench
from tests.loops import for_each
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


@for_each("form", ["jsonl", "csv", "lines"])
def test_every_format_holds_the_same_words(form) -> None:
    documents = make_documents(40)
    model = bench.train_categorizer(documents)
    texts = [document.fields for document in documents]
    lines = bench.format_lines(texts, form, model.text.fields)
    answers = predict_lines(model, read_documents(lines, form, "x", model.text.fields))
    assert [json.loads(line)["labels"] for line in answers] == [list(d.labels) for d in documents]
