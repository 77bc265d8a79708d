"""Counting words beside scikit-learn's CountVectorizer, tokenizer by tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textcat.text.bench import time_counting
from textcat.text.counting import TextDocument
from textcat.text.settings import TextSettings

VARIANTS: dict[str, TextSettings] = {
    "alphabetic": TextSettings(tokenizer="alphabetic"),
    "alphabetic, Porter": TextSettings(tokenizer="alphabetic", stem="porter_martin"),
    "alphanumeric": TextSettings(tokenizer="alphanumeric"),
    "words": TextSettings(tokenizer="words"),
    "words, Porter": TextSettings(tokenizer="words", stem="porter_martin"),
    "trec, Porter, SMART": TextSettings(tokenizer="trec", stem="porter_lemur", stop_list="smart"),
}


def bench_text(documents: Sequence[TextDocument], repeats: int = 3) -> list[dict[str, Any]]:
    """A row a variant: seconds of processor time, tokens a second, and the ratio to the peer with that pattern."""
    rows = []
    for name, settings in VARIANTS.items():
        times = time_counting(documents, settings, repeats=repeats)
        rows.append(
            {
                "variant": name,
                "documents": times.documents,
                "tokens": times.tokens,
                "seconds": round(times.seconds, 3),
                "tokens_per_second": round(times.tokens / times.seconds),
                "peer_seconds": None if times.peer is None else round(times.peer, 3),
                "ratio": None if times.ratio is None else round(times.ratio, 3),
            }
        )
    return rows
