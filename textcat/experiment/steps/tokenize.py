"""From a collection's files to counts of terms: documents x terms, with ids, labels and the collection's split."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from textcat.corpora import VectorCorpus, list_vector_corpora, open_corpus, open_vectors
from textcat.experiment.spec.experiment import CorpusSettings
from textcat.experiment.steps.step import Step, StepContext
from textcat.plugins import collect_identities
from textcat.store import Recipe
from textcat.store.arrays import read_json, read_matrix, write_json, write_matrix
from textcat.text.counting import CountedDocuments, count_terms
from textcat.text.stop_lists import stop_list_identity
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, load_tokenizer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Counts:
    """What the step leaves: the documents of the collection's training and test parts, and its categories."""

    documents: CountedDocuments
    categories: Sequence[str]
    weighted: bool = False


def make_tokenize_step(corpus: CorpusSettings, text: TextSettings, folder: Path, fingerprint: str) -> Step:
    """Count the terms of the collection in `folder`, whose contents have that fingerprint."""
    recipe = Recipe(
        stage="tokenize",
        version=1,
        parameters={
            "corpus": corpus.model_dump(mode="json", include={"name", "split", "options"}),
            "text": text.model_dump(mode="json"),
            **stop_list_identity(text.stop_list),
            **collect_identities(("corpora", corpus.name), ("tokenizers", text.tokenizer)),
        },
        inputs={"corpus": fingerprint},
    )

    def make(workshop: StepContext, target: Path) -> None:
        if corpus.name in list_vector_corpora():
            _write_counts(
                target,
                _convert_vectors(
                    open_vectors(corpus.name, folder, split=corpus.split or None, **corpus.options)
                ),
            )
            return
        opened = open_corpus(corpus.name, folder, split=corpus.split or None, **corpus.options)
        counts = _count_terms(opened, text, workshop)
        _log_problems(opened)
        _write_counts(target, counts)

    return Step("tokenize", f"tokenize {corpus.name}", recipe, make)


def _count_terms(opened: Any, text: TextSettings, workshop: StepContext) -> Counts:
    documents = (document for document in opened.documents() if document.split != "unused")
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        workshop.progress(done, None, f"tokenize {opened.name}")

    # Our own tokenizers are done with a text before another process has got it; a plugin's may take any time.
    own = isinstance(load_tokenizer(text.tokenizer), Tokenizer)
    jobs = 1 if own else workshop.jobs
    counted = count_terms(documents, text, n_jobs=jobs, executor=workshop.executor, progress=tell)
    return Counts(counted, list(opened.categories))


def _convert_vectors(opened: VectorCorpus) -> Counts:
    """A collection that comes as weighted vectors: its columns are its terms."""
    used = np.flatnonzero(opened.split != "unused")
    labels = [tuple(opened.categories[k] for k in np.flatnonzero(row)) for row in opened.Y[used]]
    documents = CountedDocuments(
        csr_array(opened.X[used]),
        list(opened.terms),
        [opened.ids[row] for row in used],
        labels,
        [str(side) for side in opened.split[used]],
    )
    return Counts(documents, list(opened.categories), weighted=True)


def _log_problems(opened: Any) -> None:
    """Say what a user's own file held that could not be taken as it was."""
    problems = getattr(opened, "problems", None)
    if problems is not None and (told := problems.summary()):
        log.warning("%s: %s", opened.path, told)


def _write_counts(target: Path, counts: Counts) -> None:
    documents = counts.documents
    write_matrix(target, "counts", documents.counts)
    write_json(target, "terms", documents.terms)
    write_json(
        target, "documents", {"ids": documents.ids, "labels": documents.labels, "split": documents.split}
    )
    write_json(target, "categories", list(counts.categories))
    write_json(target, "weighted", counts.weighted)


def read_counts(folder: Path) -> Counts:
    """The counts that the step left."""
    roll = read_json(folder, "documents")
    documents = CountedDocuments(
        counts=read_matrix(folder, "counts"),
        terms=read_json(folder, "terms"),
        ids=roll["ids"],
        labels=[tuple(labels) for labels in roll["labels"]],
        split=roll["split"],
    )
    return Counts(documents, read_json(folder, "categories"), bool(read_json(folder, "weighted")))
