"""Explain decisions: the strongest features of a category, and the words that decided a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textcat.errors import UsageError
from textcat.serving.categorizer import Categorizer
from textcat.text.counting import TextDocument, count_terms
from textcat.text.spans import find_spans
from textcat.text.text_settings import TextSettings
from textcat.yaml_reader import suggest_names


@dataclass(frozen=True)
class Contribution:
    """A term and what it adds to a category's score."""

    term: str
    weight: float
    ngrams: tuple[str, ...] = ()
    """For a hashed feature, the n-grams of the document that it stands for."""

    @property
    def name(self) -> str:
        """The term, for a hashed feature with its n-grams."""
        return f"{self.term} ({', '.join(self.ngrams)})" if self.ngrams else self.term


def find_category_column(categorizer: Categorizer, category: str) -> int:
    """Return the column of a category; raise UsageError for an unknown one."""
    if category not in categorizer.categories:
        hint = suggest_names(category, categorizer.categories)
        raise UsageError(f"the model has no category {category!r}", hint=hint)
    return list(categorizer.categories).index(category)


def get_category_weights(categorizer: Categorizer, category: str) -> Any:
    """Return a category's weights, one for each term; raise UsageError if the model has none."""
    weights_of: Any = getattr(categorizer.model, "category_weights", None)
    if weights_of is None or categorizer.axes:
        raise UsageError(
            f"{categorizer.run.learner} has no weight for each word",
            hint="Explain a linear model over words.",
        )
    return weights_of(find_category_column(categorizer, category))


def get_category_constant(categorizer: Categorizer, category: str) -> float:
    """Return the constant in the score of every document; 0 for models without one."""
    intercept: Any = getattr(categorizer.model, "intercept", None)
    return 0.0 if intercept is None else float(intercept[find_category_column(categorizer, category)])


def find_strongest_terms(
    categorizer: Categorizer, category: str, number: int
) -> tuple[list[Contribution], list[Contribution]]:
    """Return the terms with the largest positive and negative weights, at most `number` each; ties by term order."""
    weights = get_category_weights(categorizer, category)
    order = np.argsort(-weights, kind="stable")
    terms = categorizer.vectorizer.terms
    supporting = [Contribution(terms[j], float(weights[j])) for j in order[:number] if weights[j] > 0]
    opposing = [Contribution(terms[j], float(weights[j])) for j in order[::-1][:number] if weights[j] < 0]
    return supporting, opposing


def compute_contributions(
    categorizer: Categorizer, category: str, document: TextDocument
) -> list[Contribution]:
    """Return what each term of a document adds to the score, largest absolute value first."""
    weights = get_category_weights(categorizer, category)
    row = categorizer.vectors([document]).tocsr()
    terms = categorizer.vectorizer.terms
    hashed = _list_hashed_ngrams(categorizer.text, document)
    found = [
        Contribution(terms[j], float(value * weights[j]), tuple(hashed.get(terms[j], ())))
        for j, value in zip(row.indices, row.data, strict=True)
        if weights[j] != 0.0
    ]
    return sorted(found, key=lambda each: -abs(each.weight))


def _list_hashed_ngrams(text: TextSettings, document: TextDocument) -> dict[str, list[str]]:
    """Return the n-grams of a document by hashed feature; empty if no group is hashed."""
    found: dict[str, list[str]] = {}
    for group in text.groups:
        if group.bits:
            plain = group.model_copy(update={"bits": None, "minimum_documents": 1})
            chosen = text.model_copy(update={"groups": (plain,)})
            for ngram in count_terms([document], chosen, missing_fields=True).terms:
                found.setdefault(group.name_term(ngram), []).append(ngram)
    return found


@dataclass(frozen=True)
class LocatedWord:
    """A word of a document's text (characters start to end of a field), and what it adds to the score."""

    field: str
    start: int
    end: int
    weight: float


def locate_words(
    categorizer: Categorizer, document: TextDocument, parts: Sequence[Contribution]
) -> list[LocatedWord]:
    """Return the words of the document that contain the given terms, with the total weight of their terms."""
    weight = {part.term: part.weight for part in parts}
    found = []
    for field in categorizer.text.fields:
        for span in find_spans(document.fields.get(field, ""), field, categorizer.text):
            total = sum(weight.get(term, 0.0) for term in span.terms)
            if total != 0.0:
                found.append(LocatedWord(field, span.start, span.end, total))
    return found
