"""From a collection's files to counts of terms: documents x terms, with ids, labels and the collection's split."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from textcat.corpora import Corpus, VectorCorpus, list_vector_corpora, open_corpus, open_vectors
from textcat.corpora.document import CountingCorpus, Document, StreamedCorpus, count_labels
from textcat.experiment.context import RunContext, Step
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fetch import verify_documents
from textcat.extensions import find_sources
from textcat.store import Recipe
from textcat.store.arrays import (
    read_array,
    read_json,
    read_matrix,
    write_array,
    write_json,
    write_matrix,
)
from textcat.text.counting import CountedDocuments, count_terms
from textcat.text.terms import stop_list_identity
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import TOKENIZERS, Tokenizer

log = logging.getLogger(__name__)

# They rise when a user's documents are read in another way, so that documents in the cache are read again.
READER_VERSIONS = {"csv": 5, "tsv": 6, "jsonl": 6, "fasttext": 3, "folders": 3, "svmlight": 3}
# Rises when names of labels are read or learned from in another way.
LABEL_NAMES_VERSION = 2


@dataclass(frozen=True)
class Counts:
    """The counted training and test documents of a collection, and its categories."""

    documents: CountedDocuments
    categories: Sequence[str]
    weighted: bool = False


def make_tokenize_step(
    experiment: Experiment, text: TextSettings, folder: Path, fingerprint: str, *, keeps_texts: bool = False
) -> Step:
    """Return the step that counts the terms of the collection in `folder`, whose contents have that fingerprint.

    `keeps_texts`: also record which texts are equal. Imported modules are part of its key, and therefore of the keys of
    all steps that follow.
    """
    corpus, imports = experiment.corpus, find_sources(experiment.imports)
    recipe = Recipe(
        stage="tokenize",
        version=1,
        parameters={
            "corpus": corpus.model_dump(mode="json", include={"name", "split", "options"}),
            "text": text.dump_for_counting(),
            **({"reader": READER_VERSIONS[corpus.name]} if corpus.name in READER_VERSIONS else {}),
            **({"names": LABEL_NAMES_VERSION} if corpus.options.get("label_names") else {}),
            **({"texts": "kept"} if keeps_texts else {}),
            **stop_list_identity(text.stop_list),
            **({"imports": imports} if imports else {}),
        },
        inputs={"corpus": fingerprint},
    )

    def make(context: RunContext, target: Path) -> None:
        split = corpus.split or None
        if corpus.name in list_vector_corpora():
            vectors = open_vectors(corpus.name, folder, split=split, **corpus.options)
            verify_documents(corpus, folder, fingerprint)
            write_counts(target, _convert_vectors(vectors))
            return
        opened = open_corpus(corpus.name, folder, split=split, **corpus.options)
        counts = _count_terms(opened, text, context, keeps_texts=keeps_texts)
        verify_documents(corpus, folder, fingerprint)
        _log_problems(opened, context)
        write_counts(target, counts)

    return Step("tokenize", f"tokenize {corpus.name}", recipe, make)


def stream_documents(opened: Corpus) -> Iterator[Document]:
    """Yield the training and test documents of a collection in one pass."""
    stream = opened.stream() if isinstance(opened, StreamedCorpus) else opened.documents()
    return (document for document in stream if document.split != "unused")


def _count_terms(opened: Corpus, text: TextSettings, context: RunContext, *, keeps_texts: bool) -> Counts:
    """Count the terms and find the categories in one pass over the documents."""
    documents = stream_documents(opened)
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        context.progress(done, None, f"tokenize {opened.name}")

    # Built-in tokenizers are faster than sending the text to another process; a registered one may be slow.
    own = isinstance(TOKENIZERS[text.tokenizer], Tokenizer)
    jobs = 1 if own else context.jobs
    counted = count_terms(documents, text, n_jobs=jobs, executor=context.executor, progress=report)
    if not keeps_texts:
        counted = replace(counted, texts=None)
    if isinstance(opened, StreamedCorpus) and (sides := opened.draw_sides(len(counted.ids))):
        counted = replace(counted, split=list(sides))
    return Counts(counted, list(_list_categories(opened, counted)))


def _list_categories(opened: Corpus, counted: CountedDocuments) -> Sequence[str]:
    if isinstance(opened, CountingCorpus):
        return opened.list_categories(count_labels(zip(counted.labels, counted.split, strict=True)))
    return opened.categories


def _convert_vectors(opened: VectorCorpus) -> Counts:
    """Return the counts of a collection of weighted vectors: its columns are its terms."""
    used = np.flatnonzero(opened.split != "unused")
    Y = opened.Y[used]
    labels = [
        tuple(opened.categories[k] for k in Y.indices[start:end])
        for start, end in pairwise(Y.indptr.tolist())
    ]
    documents = CountedDocuments(
        csr_array(opened.X[used]),
        list(opened.terms),
        [opened.ids[row] for row in used],
        labels,
        [str(side) for side in opened.split[used]],
    )
    return Counts(documents, list(opened.categories), weighted=True)


def _log_problems(opened: Any, context: RunContext) -> None:
    """Log the problems that the reader of a user's own documents met, once if they are counted several times."""
    problems = getattr(opened, "problems", None)
    if problems is not None and (summary := problems.summary()):
        message = f"{opened.path}: {summary}"
        if message not in context.logged:
            context.logged.add(message)
            log.warning("%s", message)


def write_counts(target: Path, counts: Counts) -> None:
    """Write the files of a tokenize artifact."""
    documents = counts.documents
    write_matrix(target, "counts", documents.counts)
    write_json(target, "terms", documents.terms)
    write_json(
        target, "documents", {"ids": documents.ids, "labels": documents.labels, "split": documents.split}
    )
    write_json(target, "categories", list(counts.categories))
    write_json(target, "weighted", counts.weighted)
    if documents.group_ends:
        write_json(target, "group_ends", list(documents.group_ends))
    if documents.texts is not None:
        write_array(target, "texts", documents.texts)


def read_counts(folder: Path) -> Counts:
    """Read the counts of a tokenize artifact."""
    rows = read_json(folder, "documents")
    documents = CountedDocuments(
        counts=read_matrix(folder, "counts"),
        terms=read_json(folder, "terms"),
        ids=rows["ids"],
        labels=[tuple(labels) for labels in rows["labels"]],
        split=rows["split"],
        group_ends=tuple(read_json(folder, "group_ends")) if (folder / "group_ends.json").exists() else (),
        texts=read_array(folder, "texts") if (folder / "texts.npy").exists() else None,
    )
    return Counts(documents, read_json(folder, "categories"), bool(read_json(folder, "weighted")))
