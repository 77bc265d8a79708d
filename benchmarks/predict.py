"""Time labelling new documents, from lines of a file to lines of JSON, on one thread next to scikit-learn.

The model is logistic regression over the categories that have training and test documents. The peer is scikit-learn's
TfidfVectorizer with the same words and its LogisticRegression with the same weights. The peer does less: it reads
strings, not lines of a file, and writes nothing.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from textcat.corpora import Document, count_categories
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.decide import DecisionRule
from textcat.linear import fit
from textcat.serving.categorizer import Categorizer
from textcat.serving.document_files import InputFormat, read_documents
from textcat.serving.predict import BATCH_SIZE, predict_lines
from textcat.text.counting import count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer, VectorSettings

SHORT_WORDS = 30
LEAST_DOCUMENTS = 20_000
SHORT, WHOLE = f"{SHORT_WORDS} words", "whole documents"

Texts = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class PredictVariant:
    """What is measured in a row: the documents, their format, and whether numbers of all categories are written."""

    documents: str
    format: InputFormat
    every_category: bool = False

    @property
    def numbers_of(self) -> str:
        """Return the categories whose numbers are written."""
        return "all categories" if self.every_category else "labels"

    @property
    def name(self) -> str:
        """Return the name by which `--only` finds the row."""
        return f"{self.documents}, {self.format}, {self.numbers_of}"


VARIANTS = (
    PredictVariant(SHORT, "jsonl"),
    PredictVariant(SHORT, "csv"),
    PredictVariant(SHORT, "lines"),
    PredictVariant(SHORT, "jsonl", every_category=True),
    PredictVariant(WHOLE, "jsonl"),
    PredictVariant(WHOLE, "jsonl", every_category=True),
)


def bench_predict(
    documents: Sequence[Document], variants: Sequence[PredictVariant] = VARIANTS, repeats: int = 3
) -> Iterator[dict[str, Any]]:
    """Yield a row per variant: processor seconds, documents a second, and the ratio to the peer."""
    categorizer = train_categorizer(documents)
    fields = categorizer.text.fields
    peer = _make_peer(categorizer, documents)
    for name in dict.fromkeys(variant.documents for variant in variants):
        texts: Texts = [document.fields for document in documents if document.split == "test"]
        if name == SHORT:
            texts = _repeat_texts([_shorten(document.fields, fields) for document in documents])
        strings = ["\n".join(each.get(field, "") for field in fields) for each in texts]
        for variant in variants:
            if variant.documents == name:
                row = {"documents": name, "format": variant.format, "numbers of": variant.numbers_of}
                yield row | _measure_row(categorizer, texts, variant, repeats, peer, strings)


def train_categorizer(documents: Sequence[Document]) -> Categorizer:
    """Return a logistic model of the training documents, as `textcat train` makes it."""
    first = documents[0].fields
    fields = tuple(name for name in ("title", "body") if name in first) or tuple(first)
    text = TextSettings(tokenizer="alphabetic", fields=fields)
    counted = count_terms((d for d in documents if d.split == "train"), text)
    vectorizer = Vectorizer.fit(counted, settings=VectorSettings(weighting="log_tf_idf", cosine=True))
    categories = count_categories(documents).in_both()
    labels = counted.make_sparse_labels(categories).toarray()
    model = fit(
        vectorizer.transform(counted), labels, loss="logistic", prior="gaussian", lam=1e-5, algorithm="fast"
    )
    run = RunSettings.model_validate({"learner": "linear", "parameters": {"loss": "logistic"}, "text": text})
    decider = DecisionRule(run, False, np.zeros(len(categories)), 1.0, labels.mean(axis=0), None)
    return Categorizer("bench", "logistic", categories, vectorizer, model, decider, {})


def format_lines(texts: Texts, form: InputFormat, fields: Sequence[str]) -> list[bytes]:
    """Return the texts as the lines of a file."""
    if form == "jsonl":
        return [json.dumps({"id": str(n), **each}).encode() + b"\n" for n, each in enumerate(texts)]
    if form == "lines":
        joined = (" ".join(" ".join(each.get(name, "") for name in fields).split()) for each in texts)
        return [line.encode() + b"\n" for line in joined]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["id", *fields], extrasaction="ignore")
    writer.writeheader()
    writer.writerows({"id": n, **each} for n, each in enumerate(texts))
    return stream.getvalue().encode().splitlines(keepends=True)


def _shorten(texts: Mapping[str, str], fields: Sequence[str]) -> dict[str, str]:
    """Return the first words of a document, over its fields in order."""
    left, short = SHORT_WORDS, {}
    for name in fields:
        words = texts.get(name, "").split()[:left]
        short[name] = " ".join(words)
        left -= len(words)
    return short


def _repeat_texts(texts: Texts) -> Texts:
    """Return the texts, repeated if they are too few to measure."""
    return [*texts] * max(1, -(-LEAST_DOCUMENTS // max(len(texts), 1)))


def _measure_row(
    categorizer: Categorizer,
    texts: Texts,
    variant: PredictVariant,
    repeats: int,
    peer: Callable[[Any], None] | None,
    strings: Sequence[str],
) -> dict[str, Any]:
    """Measure both in turns, so that other load slows both alike; the peer reads the documents as strings."""
    fields = categorizer.text.fields
    lines = format_lines(texts, variant.format, fields)

    def predict(given: Sequence[bytes]) -> None:
        for _ in predict_lines(
            categorizer,
            read_documents(given, variant.format, "bench", fields),
            every_category=variant.every_category,
        ):
            pass

    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(repeats + 1):
        end = None if turn else BATCH_SIZE
        ours.append(_measure_seconds(predict, lines[:end]))
        if peer is not None:
            theirs.append(_measure_seconds(peer, strings[:end]))
    seconds, alone = min(ours[1:]), min(theirs[1:], default=None)
    return {
        "number": len(texts),
        "seconds": round(seconds, 4),
        "documents_per_second": round(len(texts) / seconds),
        "peer_seconds": None if alone is None else round(alone, 4),
        "ratio": None if alone is None else round(seconds / alone, 3),
    }


def _measure_seconds(work: Callable[[Any], None], given: Any) -> float:
    """Return the processor time of one call."""
    started = time.process_time()
    work(given)
    return time.process_time() - started


def _make_peer(categorizer: Categorizer, documents: Sequence[Document]) -> Callable[[Any], None] | None:
    """Return scikit-learn's prediction with the same words and weights; None if it is not installed."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return None
    fields = categorizer.text.fields
    vectorizer = TfidfVectorizer(
        token_pattern="[a-zA-Z]+",  # noqa: S106
        sublinear_tf=True,
        vocabulary=categorizer.vectorizer.terms,
    )
    vectorizer.fit(
        "\n".join(d.fields.get(name, "") for name in fields) for d in documents if d.split == "train"
    )
    model: Any = categorizer.model
    classifier = LogisticRegression()
    classifier.coef_, classifier.intercept_ = np.ascontiguousarray(model.coef.T), model.intercept
    classifier.classes_ = np.arange(len(categorizer.categories))

    def predict(texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH_SIZE):
            scores = classifier.decision_function(vectorizer.transform(texts[start : start + BATCH_SIZE]))
            np.nonzero(scores >= 0.0)
            expit(scores)

    return predict
