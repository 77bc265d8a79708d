"""Check an experiment's documents before training: one label each if required, and terms to learn from.

The checks read the artifacts, so that a run from the cache is checked as well.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.corpora import OWN_FORMATS, list_vector_corpora, open_corpus
from textcat.corpora.document import find_similar_labels
from textcat.corpora.own.tables import TABLES
from textcat.errors import BadDataError
from textcat.evaluation.measures import count_positives
from textcat.experiment.context import RunContext, Step
from textcat.experiment.run.plan import STAGES, Chain, Plan
from textcat.experiment.spec.experiment import CorpusSettings, Experiment
from textcat.experiment.steps.features import keeps_all_features
from textcat.experiment.steps.vectorize import count_names, read_labels, read_selection
from textcat.store.arrays import is_large, read_array, read_json, read_matrix
from textcat.text.tokenizers import reads_latin_only
from textcat.yaml_reader import list_first

log = logging.getLogger(__name__)

# Warn of a larger share of documents without a term.
MOST_EMPTY = 0.05
SHOWN = 3
# Warn of weights that take more memory.
MOST_WEIGHT_BYTES = 2_000_000_000


class DocumentChecks:
    """Checks the documents after each step of a plan that can change them."""

    def __init__(self, plan: Plan, context: RunContext, until: str) -> None:
        self._plan, self._context, self._until = plan, context, until
        self._warned: set[str] = set()
        self._checked: set[str] = set()

    def check_step(self, step: Step) -> None:
        """Refuse documents that break `single_label`; warn once per cause of documents without a term."""
        key = step.recipe.key
        for chain in self._plan.chains:
            if chain.vectorized.recipe.key == key and key not in self._checked:
                self._checked.add(key)
                folder = step.read_folder(self._context)
                check_single_label(self._plan.experiment, folder)
                if self._plan.experiment.corpus.name in OWN_FORMATS and chain.repeat == 0:
                    check_categories(self._plan.experiment, folder)
                if self._until not in ("tokenize", "select"):
                    self._warn_of_size(folder, key)
            if chain.repeat == 0 and _list_document_steps(chain, self._until)[-1].recipe.key == key:
                self._warn(
                    count_empty_documents(chain, self._plan.experiment.corpus, self._context, self._until)
                )

    def _warn_of_size(self, folder: Path, key: str) -> None:
        """Say how much memory the weights of the runs on these vectors take, if it is much."""
        features = read_matrix(folder, "train", mapped=is_large(folder, "train")).shape[1]
        labels = len(read_json(folder, "categories"))
        if 8 * features * labels <= MOST_WEIGHT_BYTES:
            return
        whole = [
            chain.run
            for chain in self._plan.chains
            if chain.vectorized.recipe.key == key
            and chain.repeat == 0
            and "prune" not in chain.settings.parameters
            and chain.settings.learner != "label_tree"
            and keeps_all_features(chain.settings.selection)
            and chain.settings.projection is None
        ]
        if whole:
            log.warning(
                "Warning: %s: %s features x %s labels are %.1f GB of weights. `parameters: {prune: 0.02}` drops most "
                "of them, and `learner: label_tree` is faster.",
                ", ".join(whole), f"{features:,}", f"{labels:,}", 8e-9 * features * labels,
            )  # fmt: skip

    def _warn(self, empty: EmptyDocuments) -> None:
        if empty.share > MOST_EMPTY and empty.remedy not in self._warned:
            self._warned.add(empty.remedy)
            log.warning("Warning: %s", empty)


@dataclass(frozen=True)
class EmptyDocuments:
    """How many documents of a run have no term after each step (name, empty, all), and a remedy."""

    steps: Sequence[tuple[str, int, int]]
    remedy: str

    @property
    def share(self) -> float:
        """Share of documents without a term after the last step."""
        return _compute_share(self.steps[-1])

    @property
    def summary(self) -> str:
        """The share after the last step, and the number after each step where it differs."""
        _, empty, documents = self.steps[-1]
        text = f"{empty:,} of {documents:,} documents have no term ({100 * self.share:.1f} %)"
        if len({number for _, number, _ in self.steps}) > 1:
            text += ": " + ", ".join(f"{number:,} after {done}" for done, number, _ in self.steps)
        return text

    def __str__(self) -> str:
        """Return the summary, with the remedy if the share is large."""
        return f"{self.summary}. {self.remedy}" if self.share > MOST_EMPTY else self.summary


def find_emptiest_run(plan: Plan, context: RunContext, until: str = "evaluate") -> EmptyDocuments:
    """Return the count for the run with the most documents without a term, in its first repetition."""
    corpus = plan.experiment.corpus
    chains = {
        _list_document_steps(chain, until)[-1].recipe.key: chain for chain in plan.chains if chain.repeat == 0
    }
    found = [count_empty_documents(chain, corpus, context, until) for chain in chains.values()]
    return max(found, key=lambda empty: empty.share)


def count_empty_documents(
    chain: Chain, corpus: CorpusSettings, context: RunContext, until: str
) -> EmptyDocuments:
    """Count documents without a term after each step up to a stage; the remedy is for the largest loss."""
    steps: list[tuple[str, int, int]] = []
    for step in _list_document_steps(chain, until):
        folder = step.read_folder(context)
        if step is chain.tokenized:
            done, lengths = "tokenizing", _read_row_lengths(folder, "counts")
        elif step is chain.vectorized:
            done, lengths = "vectorizing", _read_row_lengths(folder, "train", "test")
        else:
            done, lengths = "selection", _count_selected_terms(chain, context)
        steps.append((done, int(np.count_nonzero(lengths == 0)), len(lengths)))
    shares = [0.0, *map(_compute_share, steps)]
    lost = [after - before for before, after in pairwise(shares)]
    worst = steps[int(np.argmax(lost))][0]
    return EmptyDocuments(steps, _suggest_remedy(worst, chain, corpus))


def _list_document_steps(chain: Chain, until: str) -> list[Step]:
    """Return the steps up to a stage that can leave a document without terms."""
    steps = (chain.tokenized, chain.vectorized, chain.selected)
    return [step for step in steps if step and STAGES.index(step.stage) <= STAGES.index(until)]


def _read_row_lengths(folder: Path, *matrices: str) -> NDArray[np.int64]:
    return np.concatenate([np.diff(read_array(folder, f"{matrix}.indptr")) for matrix in matrices])


def _count_selected_terms(chain: Chain, context: RunContext) -> NDArray[np.int64]:
    """Return, for each document, the number of its terms that are selected for any category."""
    folder = chain.vectorized.read_folder(context)
    selected: NDArray[np.bool_] = np.any(read_selection(chain.selected, context), axis=1)
    lengths = []
    for part in ("train", "test"):
        matrix = read_matrix(folder, part, mapped=is_large(folder, part))
        before = np.concatenate([[0], np.cumsum(selected[matrix.indices], dtype=np.int64)])
        lengths.append(np.diff(before[matrix.indptr]))
    return np.concatenate(lengths)


def _compute_share(step: tuple[str, int, int]) -> float:
    _, empty, documents = step
    return empty / max(documents, 1)


def _suggest_remedy(done: str, chain: Chain, corpus: CorpusSettings) -> str:
    """Return what to do if a step leaves many documents without terms."""
    if corpus.name in list_vector_corpora():
        return "Remove the vectors without entries, or select more features."
    if done == "selection" and chain.settings.selection.features == "all":
        return "Select features of fewer documents (`selection.minimum_documents`)."
    if done == "selection":
        return f"Select more than {chain.settings.selection.features} features (`selection.features`)."
    if done == "vectorizing":
        return (
            "Their words are too rare (`vector.minimum_documents`, `vector.minimum_count`) or occur in no training "
            "document. Split text without spaces between words (Chinese, Japanese, Thai) into words first."
        )
    text = chain.settings.text
    nothing = f"no words in {', '.join(text.fields)} (`text.fields`)"
    if text.stop_list != "none":
        nothing += ", or only words of the stop list"
    if reads_latin_only(text.tokenizer):
        return (
            f"The tokenizer {text.tokenizer} only reads Latin letters: for other scripts write "
            f"`text: {{tokenizer: unicode}}`. Documents in Latin letters have {nothing}."
        )
    return f"These documents have {nothing}."


def check_single_label(experiment: Experiment, vectors: Path) -> None:
    """Raise BadDataError for documents with several labels or none if `single_label` is true."""
    if not experiment.corpus.single_label:
        return
    labels = sp.csr_array(sp.vstack([read_labels(vectors, part) for part in ("train", "test")], format="csr"))
    numbers = np.diff(labels.indptr)
    if np.all(numbers == 1):
        return
    ids = [*read_json(vectors, "train.ids"), *read_json(vectors, "test.ids")]
    categories = read_json(vectors, "categories")
    wrong = {
        str(ids[row]): ", ".join(repr(categories[k]) for k in labels[[row]].indices) or "no label"
        for row in np.flatnonzero(numbers != 1)
    }
    several, none = int(np.count_nonzero(numbers > 1)), int(np.count_nonzero(numbers == 0))
    counted = [
        f"{number:,} of {len(numbers):,} documents have {what}"
        for number, what in ((several, "several labels"), (none, "no label among the categories"))
        if number
    ]
    places = [f"{place}: {found}" for place, found in _locate_documents(experiment, wrong)]
    raise BadDataError(
        f"`single_label: true`, but {' and '.join(counted)}, such as\n  " + "\n  ".join(places),
        where=str(experiment.own_documents if experiment.corpus.path else experiment.corpus.name),
        hint=_suggest_label_remedy(experiment.corpus, several=several > 0, none=none > 0),
    )


def check_categories(experiment: Experiment, vectors: Path) -> None:
    """Refuse own documents that leave nothing to learn; warn of categories that cannot be learned or tested."""
    train, test = (read_labels(vectors, part) for part in ("train", "test"))
    # Names of labels are no documents of the user.
    train = train[: train.shape[0] - count_names(vectors)]
    names = read_json(vectors, "categories")
    expected = {run.reject.label for run in experiment.runs.values() if run.reject}
    learned, tested = (count_positives(labels) for labels in (train, test))
    if np.all((learned == 0) | (learned == train.shape[0])):
        all_have = [name for name, number in zip(names, learned, strict=True) if number]
        raise BadDataError(
            f"every training document has the label {', '.join(map(repr, all_have))}: there is nothing to learn"
            if all_have
            else "no training document has a label",
            where=str(experiment.own_documents if experiment.corpus.path else experiment.corpus.name),
            hint="Add documents of another category, or name another `label` or `side` in `corpus.options`.",
        )
    for chosen, what in (
        ((learned == 0) & (tested > 0), "only in test documents: not learned, and counted as errors"),
        (learned == 1, "in a single training document: too few to learn from"),
    ):
        # Only test documents may have the label for documents out of scope.
        found = [names[k] for k in np.flatnonzero(chosen) if names[k] not in expected]
        if found:
            shown = list_first(found, SHOWN)
            verb = "is" if len(found) == 1 else "are"
            counted = f"{len(found)} of {len(names)} categories"
            log.warning("Warning: %s %s %s (%s)", counted, verb, what, shown)
    for similar in find_similar_labels(names)[:SHOWN]:
        log.warning("Warning: the categories %s may be the same", ", ".join(map(repr, similar)))


def _locate_documents(experiment: Experiment, wrong: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the place of the first few documents with these ids (file and line if known), and their labels."""
    corpus = experiment.corpus
    if corpus.name not in OWN_FORMATS or corpus.name in list_vector_corpora():
        # Sort ids that are numbers by value.
        first = sorted(wrong, key=lambda name: (len(name), name))[:SHOWN]
        yield from ((f"document {name}", wrong[name]) for name in first)
        return
    opened = open_corpus(
        corpus.name, experiment.own_documents, split=corpus.split or None, **corpus.options
    ).documents()
    found = (document for document in opened if document.id in wrong)
    for document in islice(found, SHOWN):
        yield document.where or f"document {document.id}", wrong[document.id]


def _suggest_label_remedy(corpus: CorpusSettings, *, several: bool, none: bool) -> str:
    remedies: list[Any] = []
    if several and corpus.name in TABLES and corpus.options.get("label_separator") is not None:
        remedies.append(
            f"If a cell is one label, write `label_separator: null` in `corpus.options` in place of "
            f"{corpus.options['label_separator']!r}."
        )
    if several and corpus.options.get("same_name") == "one":
        remedies.append("If files with the same name are different documents, remove `same_name: one`.")
    if several:
        remedies.append("If documents may have several labels, write `single_label: false`.")
    if none:
        remedies.append("To skip documents without a label, write `corpus: {documents: labelled}`.")
    return " ".join(remedies)
