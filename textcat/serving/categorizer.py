"""A model directory: everything between the text of a document and its labels, as JSON and .npy files.

    categorizer.json   format, version, where it comes from, text settings, rule of thresholds, categories
    vectorizer.*       the terms, their document frequencies, how counts are weighted
    model.*            the learner's arrays and description
    thresholds.npy     one number a category;  priors.npy  the categories' shares of the training documents
    axes.npy, singular_values.npy   only where documents are projected on latent dimensions

Nothing in it is ever run, and arrays are read without pickle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError, TextcatError
from textcat.experiment.fitting import Model, load_model, save_model
from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.evaluate import decide
from textcat.experiment.steps.project import placed_as
from textcat.experiment.steps.vectorize import read_vectorizer, save_vectorizer
from textcat.plugins import identities
from textcat.serving.documents import NewDocument
from textcat.store.arrays import read_array, read_json, write_array, write_json
from textcat.text.counting import TextDocument, count
from textcat.text.settings import TextSettings
from textcat.text.vectors import Vectorizer

FORMAT = 1
HINT = "Make it with `textcat train EXPERIMENT`."


@dataclass(frozen=True)
class Categorizer:
    """A trained run that can label documents."""

    experiment: str
    name: str
    run: RunSettings
    text: TextSettings
    single_label: bool
    categories: Sequence[str]
    vectorizer: Vectorizer
    model: Model
    thresholds: NDArray[np.float64]
    priors: NDArray[np.float64]
    axes: dict[str, NDArray[Any]]

    def vectors(self, documents: Iterable[TextDocument]) -> Any:
        """The documents as the learner sees them."""
        weighted = self.vectorizer.transform(count(documents, self.text, missing_fields=True))
        if not self.axes:
            return weighted
        placed = np.asarray(weighted @ self.axes["axes"], dtype=np.float32)
        return placed_as(placed, self.run.projection, self.axes["singular_values"])

    def scores(self, documents: Iterable[TextDocument]) -> NDArray[np.float64]:
        """Documents x categories."""
        return self.model.scores(self.vectors(documents))

    def decisions(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """What is accepted, by the rule that the run was evaluated with."""
        return decide(self.run, scores, self.thresholds, self.priors, single_label=self.single_label)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Of a logistic learner its own; of others none are known."""
        settings = self.model.describe().get("settings", {})
        if settings.get("loss") != "logistic":
            return None
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0))))


def write_categorizer(folder: Path, categorizer: Categorizer) -> None:
    """The files of a model directory, in a folder that is empty."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(
        folder,
        "categorizer",
        {
            "format": FORMAT,
            "experiment": categorizer.experiment,
            "name": categorizer.name,
            "run": categorizer.run.model_dump(mode="json"),
            "text": categorizer.text.model_dump(mode="json"),
            "single_label": categorizer.single_label,
            "categories": list(categorizer.categories),
            "axes": sorted(categorizer.axes),
            **identities(("tokenizers", categorizer.text.tokenizer)),
        },
    )
    save_vectorizer(folder, categorizer.vectorizer)
    save_model(folder, categorizer.model)
    write_array(folder, "thresholds", categorizer.thresholds)
    write_array(folder, "priors", categorizer.priors)
    for name, values in categorizer.axes.items():
        write_array(folder, name, values)


def read_categorizer(folder: Path) -> Categorizer:
    """The categorizer in a model directory; a damaged or foreign one is a message, never more."""
    try:
        facts = read_json(folder, "categorizer")
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise BadDataError("not a model directory of this version of textcat", where=str(folder))
        categorizer = Categorizer(
            experiment=str(facts["experiment"]),
            name=str(facts["name"]),
            run=RunSettings.model_validate(facts["run"]),
            text=TextSettings.model_validate(facts["text"]),
            single_label=bool(facts["single_label"]),
            categories=[str(name) for name in facts["categories"]],
            vectorizer=read_vectorizer(folder),
            model=load_model(folder),
            thresholds=read_array(folder, "thresholds"),
            priors=read_array(folder, "priors"),
            axes={
                name: read_array(folder, name)
                for name in ("axes", "singular_values")
                if name in facts["axes"]
            },
        )
        _check_plugins(categorizer, facts.get("plugins", {}))
        _check_fit(categorizer)
    except TextcatError as error:
        where = error.where if error.where.startswith(str(folder)) else str(folder)
        raise BadDataError(error.what, where=where, hint=error.hint or HINT) from error
    except (OSError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise BadDataError(
            f"not a readable model directory: {error}", where=str(folder), hint=HINT
        ) from error
    return categorizer


def _check_plugins(categorizer: Categorizer, trained_with: Any) -> None:
    """Refuse to cut text into words otherwise than the training documents were."""
    here = identities(("tokenizers", categorizer.text.tokenizer)).get("plugins", {})
    if trained_with != here:
        raise BadDataError(
            f"the model was trained with {trained_with}, and here is {here}",
            hint="Install the package in that version, or train the model again.",
        )


def _check_fit(categorizer: Categorizer) -> None:
    """Refuse parts of different models, by labelling an empty document and asking for the shapes."""
    categories = len(categorizer.categories)
    for name, values in (("thresholds", categorizer.thresholds), ("priors", categorizer.priors)):
        if values.shape != (categories,) or not np.issubdtype(values.dtype, np.floating):
            raise BadDataError(f"{name} do not fit the {categories} categories")
    fields = dict.fromkeys(categorizer.text.fields, "")
    scores = categorizer.scores([NewDocument("", fields)])
    if scores.shape != (1, categories) or not np.issubdtype(scores.dtype, np.floating):
        raise BadDataError(f"the model does not score {categories} categories")
    categorizer.decisions(scores)
