"""Time counting words, per tokenizer next to scikit-learn's CountVectorizer, and per collection from its files."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from benchmarks.machine import read_peak_memory
from textcat.corpora import open_corpus
from textcat.text.counting import TextDocument, count_terms
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import TOKENIZERS, Tokenizer


def _make_peer(documents: Sequence[TextDocument], settings: TextSettings) -> Callable[[], object] | None:
    if importlib.util.find_spec("sklearn") is None:
        return None
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["\n".join(document.fields.get(name, "") for name in settings.fields) for document in documents]
    tokenizer = cast(Tokenizer, TOKENIZERS[settings.tokenizer])
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


def bench_text(
    documents: Sequence[TextDocument], variants: Iterable[str] = tuple(VARIANTS), repeats: int = 3
) -> Iterator[dict[str, Any]]:
    """Yield a row per variant: processor seconds, tokens a second, and the ratio to the peer with the same pattern.

    Both are measured in turns, and the least time of `repeats` counts. The peer only counts words.
    """
    for name in variants:
        count = partial(count_terms, documents, VARIANTS[name])
        peer = _make_peer(documents, VARIANTS[name])
        tokens = int(count().counts.data.sum())
        ours, theirs = list[float](), list[float]()
        for _ in range(repeats):
            ours.append(_measure_seconds(count))
            theirs += [] if peer is None else [_measure_seconds(peer)]
        seconds, alone = min(ours), min(theirs, default=None)
        yield {
            "variant": name,
            "documents": len(documents),
            "tokens": tokens,
            "seconds": round(seconds, 3),
            "tokens_per_second": round(tokens / seconds),
            "peer_seconds": None if alone is None else round(alone, 3),
            "ratio": None if alone is None else round(seconds / alone, 3),
        }


def bench_corpora(folders: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Yield a row per collection: documents and megabytes a second from its files to counts, and peak memory so far."""
    for name, folder in folders.items():
        documents = open_corpus(name, folder).documents()
        fields = tuple(next(iter(documents)).fields)
        settings = TextSettings(tokenizer="whitespace" if "tokens" in fields else "alphabetic", fields=fields)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        started, used = time.perf_counter(), time.process_time()
        counted = count_terms(open_corpus(name, folder).documents(), settings, n_jobs=1, missing_fields=True)
        wall, processor = time.perf_counter() - started, time.process_time() - used
        yield {
            "corpus": name,
            "documents": len(counted.ids),
            "terms": len(counted.terms),
            "nonzeros": int(counted.counts.nnz),
            "seconds": round(wall, 2),
            "processor_seconds": round(processor, 2),
            "documents_per_second": round(len(counted.ids) / wall),
            "megabytes_per_second": round(size / 1e6 / wall, 1),
            "peak_megabytes": round(read_peak_memory()),
        }
