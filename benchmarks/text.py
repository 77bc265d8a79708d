"""Time counting words, tokenizer by tokenizer, next to scikit-learn's CountVectorizer."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from textcat.text.counting import TextDocument, count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import TOKENIZERS, TokenizerName


@dataclass(frozen=True)
class CountingTimes:
    """The best of some runs in seconds of processor time, which other work on the machine hardly disturbs.

    `peer` is None where scikit-learn is not installed.
    """

    documents: int
    terms: int
    tokens: int
    seconds: float
    peer: float | None

    @property
    def ratio(self) -> float | None:
        """Our time as a multiple of the peer's."""
        return None if self.peer is None else self.seconds / self.peer


def time_counting(
    documents: Sequence[TextDocument], settings: TextSettings, *, repeats: int = 3
) -> CountingTimes:
    """Time `count` on one process and the peer in turns; the peer does nothing but count words."""
    peer = _make_peer(documents, settings)
    ours: list[float] = []
    theirs: list[float] = []
    counted = count_terms(documents, settings)
    for _ in range(repeats):
        ours.append(_measure_seconds(lambda: count_terms(documents, settings)))
        if peer is not None:
            theirs.append(_measure_seconds(peer))
    return CountingTimes(
        documents=len(documents),
        terms=len(counted.terms),
        tokens=int(counted.counts.data.sum()),
        seconds=min(ours),
        peer=min(theirs, default=None),
    )


def _make_peer(documents: Sequence[TextDocument], settings: TextSettings) -> Callable[[], object] | None:
    if importlib.util.find_spec("sklearn") is None:
        return None
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["\n".join(document.fields.get(name, "") for name in settings.fields) for document in documents]
    tokenizer = TOKENIZERS[cast(TokenizerName, settings.tokenizer)]
    options: dict[str, Any] = {
        "token_pattern": tokenizer.pattern,
        "lowercase": tokenizer.folds_first(lowercase=settings.lowercase),
    }
    if tokenizer.skip:
        options["preprocessor"] = tokenizer.skip
    return lambda: CountVectorizer(**options).fit_transform(texts)


def _measure_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


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
