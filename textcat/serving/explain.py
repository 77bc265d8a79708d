"""Why: the features that weigh most for a category, and the words that decided a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textcat.errors import UsageError
from textcat.serving.categorizer import Categorizer
from textcat.text.counting import TextDocument
from textcat.text.spans import find_spans
from textcat.yaml_reader import suggest_names


@dataclass(frozen=True)
class Contribution:
    """A term and what it adds to a category's score."""

    term: str
    weight: float


def find_category_column(categorizer: Categorizer, category: str) -> int:
    """The column of a category, by name."""
    if category not in categorizer.categories:
        hint = suggest_names(category, categorizer.categories)
        raise UsageError(f"the model has no category {category!r}", hint=hint)
    return list(categorizer.categories).index(category)


def get_category_weights(categorizer: Categorizer, category: str) -> Any:
    """A category's weights; only linear models over words have them."""
    weights_of: Any = getattr(categorizer.model, "category_weights", None)
    if weights_of is None or categorizer.axes:
        raise UsageError(
            f"{categorizer.run.learner} has no weight for each word", hint="Explain a linear run over words."
        )
    return weights_of(find_category_column(categorizer, category))


def get_category_constant(categorizer: Categorizer, category: str) -> float:
    """What a linear model adds to the score of every document."""
    intercept: Any = getattr(categorizer.model, "intercept", None)
    return 0.0 if intercept is None else float(intercept[find_category_column(categorizer, category)])


def find_strongest_terms(
    categorizer: Categorizer, category: str, number: int
) -> tuple[list[Contribution], list[Contribution]]:
    """The terms with the largest weights for a category, and against it; equal ones in the order of terms."""
    weights = get_category_weights(categorizer, category)
    order = np.argsort(-weights, kind="stable")
    terms = categorizer.vectorizer.terms
    speaking_for = [Contribution(terms[j], float(weights[j])) for j in order[:number] if weights[j] > 0]
    against = [Contribution(terms[j], float(weights[j])) for j in order[::-1][:number] if weights[j] < 0]
    return speaking_for, against


def compute_contributions(
    categorizer: Categorizer, category: str, document: TextDocument
) -> list[Contribution]:
    """What each term of a document adds to the score, the strongest first."""
    weights = get_category_weights(categorizer, category)
    row = categorizer.vectors([document]).tocsr()
    terms = categorizer.vectorizer.terms
    found = [
        Contribution(terms[j], float(value * weights[j]))
        for j, value in zip(row.indices, row.data, strict=True)
        if weights[j] != 0.0
    ]
    return sorted(found, key=lambda each: -abs(each.weight))


@dataclass(frozen=True)
class LocatedWord:
    """A word of a document's text that speaks for or against a category."""

    field: str
    start: int
    end: int
    weight: float


def locate_words(
    categorizer: Categorizer, document: TextDocument, parts: Sequence[Contribution]
) -> list[LocatedWord]:
    """Where the terms of some contributions stand in the document, each with what its term adds in all."""
    weight = {part.term: part.weight for part in parts}
    found = []
    for field in categorizer.text.fields:
        for span in find_spans(document.fields.get(field, ""), field, categorizer.text):
            together = sum(weight.get(term, 0.0) for term in span.terms)
            if together != 0.0:
                found.append(LocatedWord(field, span.start, span.end, together))
    return found
