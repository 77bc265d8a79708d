"""Model directories: everything needed to label the text of a document, as JSON and .npy files.

    categorizer.json   format, experiment, settings of the run, text settings, categories
    vectorizer.*       terms, their document frequencies, weighting
    model.*            arrays and description of the learner
    thresholds.npy     one for each category;  priors.npy  the categories' shares of the training documents
    calibration.*      only with calibrated probabilities;  per_document.npy  only for the rules rcut and pcut
    reject.npy         only with `reject`: the threshold on the best probability, and the column of the label or -1
    axes.npy, singular_values.npy   only for documents projected on latent dimensions

Arrays are read without pickle; no code in the directory is run. docs/models.md describes each file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.errors import BadDataError, DataNotAvailableError, TextcatError, UsageError
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.decide import (
    PER_DOCUMENT_RULES,
    DecisionRule,
    load_decision_rule,
    save_calibration,
)
from textcat.experiment.steps.features import scale_projection
from textcat.experiment.steps.models import Model, load_model, save_model
from textcat.experiment.steps.vectorize import read_vectorizer, save_vectorizer
from textcat.extensions import check_modules, find_owners
from textcat.serving.document_files import NewDocument, VectorDocument
from textcat.serving.model_folders import (
    CHECKSUMS,
    DAMAGED_HINT,
    check_finite,
    identify,
    open_verified,
    refuse_missing_model,
    write_checksums,
)
from textcat.store.arrays import read_array, read_json, write_array, write_json
from textcat.text.counting import DocumentCounter, TextDocument
from textcat.text.terms import hold_stop_words, is_stop_list_file
from textcat.text.text_settings import TextSettings
from textcat.text.vectorizer import Vectorizer

MODEL_FORMAT = 2
TRAIN_HINT = "Train the model with `textcat train EXPERIMENT`."
TRAIN_AGAIN_HINT = "Train the model again with `textcat train EXPERIMENT`."


@dataclass(frozen=True)
class Categorizer:
    """A trained model that labels documents.

    `checksum` is the sha256 of the list of checksums of the directory that it was read from.
    """

    experiment: str
    name: str
    categories: Sequence[str]
    vectorizer: Vectorizer
    model: Model
    decision_rule: DecisionRule
    axes: dict[str, NDArray[Any]]
    given_as_vectors: bool = False
    checksum: str = ""

    @property
    def run(self) -> RunSettings:
        """The settings of the run."""
        return self.decision_rule.run

    @property
    def text(self) -> TextSettings:
        """The text settings of the run."""
        return self.run.text

    def __getstate__(self) -> dict[str, Any]:
        """Return the parts without the counter of documents, which is made again."""
        return {name: value for name, value in self.__dict__.items() if name != "_reader"}

    @cached_property
    def _reader(self) -> DocumentCounter:
        return DocumentCounter(self.text, self.vectorizer.seen, self.vectorizer.group_ends)

    def words(self, documents: Sequence[TextDocument]) -> csr_array:
        """Return the weighted terms of the documents, as far as the model knows them."""
        if self.given_as_vectors:
            return self._join_vectors(documents)
        counts = self._reader.counts(documents)
        columns = np.arange(counts.shape[1])
        return self.vectorizer.weigh(counts, np.where(columns < len(self.vectorizer.seen), columns, -1))

    def _join_vectors(self, documents: Sequence[TextDocument]) -> csr_array:
        """Return documents that are vectors as rows, without the columns that no training or test document had."""
        found = [document for document in documents if isinstance(document, VectorDocument)]
        if len(found) < len(documents):
            raise UsageError(
                "the model was trained on vectors and cannot read text",
                hint="`textcat predict` labels svmlight files with it. To label texts, train it on texts.",
            )
        width = len(self.vectorizer.terms)
        known = [document.columns < width for document in found]
        starts = np.cumsum([0, *map(np.count_nonzero, known)])
        columns = [each.columns[own] for each, own in zip(found, known, strict=True)]
        weights = [each.weights[own] for each, own in zip(found, known, strict=True)]
        joined = csr_array(
            (np.concatenate(weights), np.concatenate(columns), starts), shape=(len(found), width)
        )
        joined.sum_duplicates()
        return joined

    def vectors(self, documents: Sequence[TextDocument]) -> Any:
        """Return the documents as vectors for the learner."""
        return self.project(self.words(documents))

    def project(self, weighted: csr_array) -> Any:
        """Project weighted terms on the latent dimensions, if the model has any."""
        if not self.axes:
            return weighted
        projected = np.asarray(weighted @ self.axes["axes"], dtype=np.float32)
        return scale_projection(projected, self.run.projection, self.axes["singular_values"])

    def scores(self, documents: Sequence[TextDocument]) -> NDArray[np.float64]:
        """Return the scores, documents x categories."""
        return self.model.scores(self.vectors(documents))

    def decisions(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which categories are accepted, by the decision rule of the run."""
        return self.decision_rule.decide(self.model, scores)

    @classmethod
    def fit(
        cls, texts: Any, labels: Any, settings: Any = None, *, seed: int = 1, jobs: int = 1
    ) -> Categorizer:
        """Train on texts with one label each (text), or with a list of labels each.

        `settings` are keys of a run (`learner`, `parameters`, `text`, `vector`, `selection`, `calibration`,
        `threshold`, `reject`) in place of the usual ones, or the path of an experiment file.
        """
        from textcat.serving.training import train_categorizer  # noqa: PLC0415 - it imports this module

        return train_categorizer(list_texts(texts), list_labels(labels), settings, seed=seed, jobs=jobs)

    @classmethod
    def load(cls, folder: str | Path) -> Categorizer:
        """Read a model directory that `save`, `textcat train` or `textcat tune` wrote."""
        return read_categorizer(Path(folder))

    def save(self, folder: str | Path) -> None:
        """Write a model directory in one step; an older model there is replaced, a folder of other files refused."""
        from textcat.serving.export import replace_model  # noqa: PLC0415 - it imports this module

        Path(folder).parent.mkdir(parents=True, exist_ok=True)
        replace_model(Path(folder), self)

    def predict(self, texts: Any) -> list[Any]:
        """Return the label of each text (None if it is rejected), or its list of labels if it may have several."""
        accepted = self.decisions(self._score_texts(texts))
        found = [[self.categories[k] for k in np.flatnonzero(row).tolist()] for row in accepted]
        if not self.decision_rule.single_label:
            return found
        return [names[0] if names else None for names in found]

    def predict_proba(self, texts: Any) -> NDArray[np.float64]:
        """Return probabilities, texts x `categories`; raise UsageError if the model has none."""
        found = self.probabilities(self._score_texts(texts))
        if found is None:
            raise UsageError(
                "the model has no probabilities",
                hint="Train it with `calibration: {method: temperature}` (one label per document) or "
                "`calibration: {method: platt}`.",
            )
        return found

    def explain(self, text: Any, category: str | None = None) -> list[tuple[str, float]]:
        """Return the terms of a text with what each adds to a category's score, the largest first.

        Without `category`, that of the highest score.
        """
        from textcat.serving.explain import compute_contributions  # noqa: PLC0415 - it imports this module

        (document,) = self.make_documents([text])
        chosen = category or self.categories[int(np.argmax(self.scores([document])[0]))]
        return [(each.name, each.weight) for each in compute_contributions(self, chosen, document)]

    def make_documents(self, texts: Any) -> list[Any]:
        """Return texts as documents, for `scores` and `vectors`."""
        from textcat.serving.training import make_documents  # noqa: PLC0415 - it imports this module

        return list(make_documents(list_texts(texts), self.text.fields))

    def _score_texts(self, texts: Any) -> NDArray[np.float64]:
        documents = self.make_documents(texts)
        return self.scores(documents) if documents else np.zeros((0, len(self.categories)))

    def reject_below(self, threshold: float) -> Categorizer:
        """Return a categorizer that gives no class to documents whose best probability is below the threshold."""
        rule = self.decision_rule
        if not rule.single_label or self.probabilities(np.zeros((1, len(self.categories)))) is None:
            raise UsageError(
                "the model cannot reject documents: it needs probabilities of one category per document",
                hint="Train it with `single_label: true` in `corpus` and `calibration: {method: temperature}`.",
            )
        return replace(self, decision_rule=rule.reject_below(threshold))

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the calibrated probabilities or those of a logistic model; None if there are none."""
        return self.decision_rule.probabilities(self.model, scores)


def list_texts(texts: Any) -> list[Any]:
    """Return texts as a list; refuse a single text, document or table, whose letters or names would be texts."""
    if isinstance(texts, str | Mapping):
        raise UsageError("texts are one text, not a list", hint="Write [text].")
    if getattr(texts, "ndim", 1) != 1:
        raise UsageError(f"texts are a table of {texts.ndim} dimensions, not a list", hint="Give one column.")
    return list(texts)


def list_labels(labels: Any) -> list[Any]:
    """Return the labels of each document, as text or as a list; refuse what is no list with an entry for each."""
    if isinstance(labels, str | Mapping) or hasattr(labels, "columns"):
        raise UsageError(
            f"labels are {type(labels).__name__}, not a list",
            hint="Give an entry for each document: its label, or a list of its labels.",
        )
    return [list(each) if isinstance(each, Iterator) else each for each in labels]


def write_categorizer(folder: Path, categorizer: Categorizer) -> None:
    """Write the files of a model directory into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    decider = categorizer.decision_rule
    run = categorizer.run.model_copy(update={"text": hold_stop_words(categorizer.text)})
    imports = find_owners(
        [
            ("tokenizer", categorizer.text.tokenizer),
            ("selection score", run.selection.score),
            ("learner", run.learner),
            ("loss", str(run.parameters.get("loss"))),
            ("threshold rule", run.threshold.rule),
        ]
    )
    write_json(
        folder,
        "categorizer",
        {
            "format": MODEL_FORMAT,
            "experiment": categorizer.experiment,
            "name": categorizer.name,
            "run": run.model_dump(mode="json", exclude=None if run.reject else {"reject"}),
            "text": run.text.model_dump(mode="json"),
            "single_label": decider.single_label,
            "categories": list(categorizer.categories),
            "axes": sorted(categorizer.axes),
            "checksums": CHECKSUMS,
            **({"given_as_vectors": True} if categorizer.given_as_vectors else {}),
            **({"imports": imports} if imports else {}),
        },
    )
    save_vectorizer(folder, categorizer.vectorizer)
    save_model(folder, categorizer.model)
    write_array(folder, "thresholds", decider.thresholds)
    write_array(folder, "priors", decider.priors)
    if decider.run.threshold.rule in PER_DOCUMENT_RULES:
        write_array(folder, "per_document", np.array(decider.per_document, dtype=np.float64))
    if decider.calibration is not None:
        save_calibration(folder, decider.calibration)
    if decider.rejection is not None:
        write_array(folder, "reject", decider.rejection.to_array())
    for name, values in categorizer.axes.items():
        write_array(folder, name, values)
    write_checksums(folder)


# How often a model that is replaced while it is read is read again.
_MOST_TRIES = 20


def read_categorizer(folder: Path) -> Categorizer:
    """Read a model directory; raise DataNotAvailableError without one, BadDataError for a damaged one.

    One that is replaced meanwhile is read again: all that is read is of one model.
    """
    tries = 0
    while True:
        tries += 1
        before = identify(folder)
        try:
            found = _read_whole(folder)
        except (BadDataError, DataNotAvailableError):
            if tries == _MOST_TRIES or identify(folder) == before:
                raise
        else:
            # What has checksums is of one model, even if another has taken its place since.
            if found.checksum or identify(folder) == before:
                return found


def _read_whole(folder: Path) -> Categorizer:
    """Read and check a model directory once."""
    refuse_missing_model(folder)
    try:
        facts = read_json(folder, "categorizer")
        made_for = facts.get("format") if isinstance(facts, dict) else None
        if made_for != MODEL_FORMAT:
            raise BadDataError(
                f"the model directory has format {made_for}, not {MODEL_FORMAT}"
                if isinstance(made_for, int)
                else "not a model directory",
                where=str(folder),
                hint=TRAIN_HINT,
            )
        # Another format may have other checksums.
        files, checksum = open_verified(folder)
        facts = read_json(files, "categorizer")
        if "checksums" in facts and not checksum:
            raise BadDataError(f"{CHECKSUMS} is missing", where=str(folder), hint=DAMAGED_HINT)
        check_modules(facts.get("imports", {}))
        run = RunSettings.model_validate(facts["run"])
        categorizer = Categorizer(
            experiment=str(facts["experiment"]),
            name=str(facts["name"]),
            categories=[str(name) for name in facts["categories"]],
            vectorizer=read_vectorizer(files),
            model=load_model(files),
            decision_rule=load_decision_rule(
                run,
                files,
                files if run.calibration else None,
                read_array(files, "priors"),
                single_label=bool(facts["single_label"]),
            ),
            axes={
                name: read_array(files, name) for name in ("axes", "singular_values") if name in facts["axes"]
            },
            given_as_vectors=bool(facts.get("given_as_vectors", False)),
            checksum=checksum,
        )
        _check_text(categorizer, facts)
        _check_numbers(categorizer)
        _check_shapes(categorizer)
    except TextcatError as error:
        where = error.where if error.where.startswith(str(folder)) else str(folder)
        raise BadDataError(error.what, where=where, hint=error.hint or TRAIN_HINT) from error
    except (OSError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadDataError(
            f"not a readable model directory: {error}", where=str(folder), hint=TRAIN_HINT
        ) from error
    return categorizer


def _check_text(categorizer: Categorizer, facts: Mapping[str, Any]) -> None:
    """Refuse other text settings than in training, and a stop list that is not in the model."""
    text = categorizer.text
    if TextSettings.model_validate(facts["text"]) != text:
        what = "`text` differs from the text settings of the run it was trained with"
        raise BadDataError(what, hint=TRAIN_AGAIN_HINT)
    if is_stop_list_file(text.stop_list):
        raise BadDataError(
            "the model names a file of stop words and does not hold them", hint=TRAIN_AGAIN_HINT
        )


def _check_shapes(categorizer: Categorizer) -> None:
    """Refuse parts of different models: label an empty document and check the shapes."""
    categories = len(categorizer.categories)
    # The trees say how many scores they make.
    if getattr(categorizer.model, "categories", categories) != categories:
        raise BadDataError(f"the model does not score {categories} categories", hint=TRAIN_AGAIN_HINT)
    decider = categorizer.decision_rule
    for name, values in (("thresholds", decider.thresholds), ("priors", decider.priors)):
        if values.shape != (categories,) or not np.issubdtype(values.dtype, np.floating):
            raise BadDataError(f"{name} do not fit the {categories} categories", hint=TRAIN_AGAIN_HINT)
    if categorizer.given_as_vectors:
        empty = categorizer.project(csr_array((1, len(categorizer.vectorizer.terms))))
    else:
        empty = categorizer.vectors([NewDocument("", dict.fromkeys(categorizer.text.fields, ""))])
    scores = categorizer.model.scores(empty)
    if scores.shape != (1, categories) or not np.issubdtype(scores.dtype, np.floating):
        raise BadDataError(f"the model does not score {categories} categories", hint=TRAIN_AGAIN_HINT)
    categorizer.decisions(scores)
    categorizer.probabilities(scores)


def _check_numbers(categorizer: Categorizer) -> None:
    """Refuse weights and other numbers that are NaN or infinite."""
    rule = categorizer.decision_rule
    check_finite(
        categorizer.axes
        | categorizer.model.to_arrays()
        | {
            "thresholds": rule.thresholds,
            "priors": rule.priors,
            "per_document": np.array(rule.per_document, dtype=np.float64),
            "concentration": categorizer.vectorizer.concentration,
        }
    )
