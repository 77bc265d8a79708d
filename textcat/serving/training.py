"""Train or tune a categorizer on texts in memory, with the settings of a run of an experiment.

The steps are those of `textcat train` without artifacts on disk: count, weigh, select, train, and fit calibration,
thresholds and rejection on held-out scores. The same documents and settings give the same numbers. `tune` is
`textcat tune` as a function.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from textcat.corpora.own.documents import LABEL_NAME, split_name
from textcat.errors import UsageError
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment, RunSettings
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.decide import DecisionRule, HeldOutScores, check_probabilities, fit_thresholds
from textcat.experiment.steps.features import FeatureSource
from textcat.experiment.steps.held_out import score_held_out
from textcat.experiment.steps.learner import LearningProblem, load_learner
from textcat.experiment.steps.models import Model
from textcat.learners.parameters import validate_parameters
from textcat.serving.categorizer import Categorizer, list_labels, list_texts
from textcat.serving.document_files import NewDocument, read_fields
from textcat.settings import describe_fault
from textcat.text.counting import count_terms
from textcat.thresholds.calibration import fit_calibration, normalize_probabilities
from textcat.thresholds.rejection import fit_rejection
from textcat.thresholds.tuning import Floats

Texts = Sequence[str] | Sequence[Mapping[str, str]]
Labels = Sequence[str] | Sequence[Sequence[str]]
Settings = Mapping[str, Any] | str | Path

# The settings that `textcat init` writes.
USUAL_SETTINGS: dict[str, Any] = {
    "learner": "linear",
    "parameters": {"loss": "squared_hinge", "cost": 1, "algorithm": "fast", "tolerance": 1e-4},
    "text": {"tokenizer": "unicode", "fields": ["text"]},
    "vector": {"weighting": "log_tf_idf", "cosine": True},
}
USUAL_DECISIONS: dict[bool, dict[str, Any]] = {
    True: {"calibration": {"method": "temperature"}},
    False: {
        "calibration": {"method": "platt"},
        "threshold": {"rule": "pcut", "per_document": "tuned", "cross_validated": True},
    },
}


def train_categorizer(
    texts: Texts, labels: Labels, settings: Settings | None = None, *, seed: int = 1, jobs: int = 1
) -> Categorizer:
    """Return a categorizer trained on texts with one label each (text) or with lists of labels.

    `settings` are the keys of a run in place of the usual ones, or an experiment file, whose first run is taken.
    """
    single = check_labels(texts, labels)
    run = make_run_settings(settings, single_label=single, at_least_one=all(len(each) > 0 for each in labels))
    documents = make_documents(texts, run.text.fields, labels)
    categories = sorted({label for document in documents for label in document.labels})
    _check_categories(categories, documents)
    names = _name_labels(categories, run.text.fields) if _learns_names(settings) else []
    counted = count_terms([*documents, *names], run.text, n_jobs=1)
    everything = np.arange(len(counted.ids))
    source = FeatureSource(counted, everything, run, seed, single)
    Y = counted.make_sparse_labels(categories).toarray()
    found = source.learn(everything, everything[:0], Y)
    problem = LearningProblem(found.kept, Y, found.mask, seed, len(names), source)
    learner, parameters = load_learner(run)
    model = learner.fit(problem, parameters, jobs)

    @cache
    def score_folds(folds: int) -> tuple[Floats, NDArray[np.int64]]:
        parts = problem.make_folds(folds, seed)
        return score_held_out(run, problem, model, parts, jobs), problem.assign_folds(folds, seed)

    rule = _fit_decision_rule(run, problem, model, score_folds, categories, single_label=single)
    return Categorizer("python", "model", categories, found.vectorizer, model, rule, {})


def make_run_settings(
    settings: Settings | None, *, single_label: bool, at_least_one: bool = False
) -> RunSettings:
    """Return the settings of a run over the usual ones; raise UsageError for wrong ones.

    Where each text has a label, `at_least_one` and shrunken thresholds are usual.
    """
    if isinstance(settings, str | Path):
        run = next(iter(load_experiment(settings).runs.values()))
    else:
        given = dict(settings or {})
        learner = (
            {} if "learner" in given else {key: USUAL_SETTINGS[key] for key in ("learner", "parameters")}
        )
        usual = USUAL_DECISIONS[single_label]
        if at_least_one and not single_label:
            usual = usual | {"threshold": usual["threshold"] | {"shrinkage": 5, "at_least_one": True}}
        merged = learner | usual | given
        merged |= {key: USUAL_SETTINGS[key] | dict(given.get(key, {})) for key in ("text", "vector")}
        run = _validate_run(merged, single_label=single_label)
    if run.search or run.projection:
        raise UsageError(
            "a categorizer is trained without `search` and `projection`",
            hint="Use `textcat train` with an experiment file, and load the model directory that it writes.",
        )
    check_probabilities(run)
    return run


def _learns_names(settings: Settings | None) -> bool:
    """Return whether an experiment file says that names of labels are training documents."""
    if not isinstance(settings, str | Path):
        return False
    return bool(load_experiment(settings).corpus.options.get("label_names"))


def _name_labels(categories: Sequence[str], fields: Sequence[str]) -> list[NewDocument]:
    """Return a training document for each label, whose text is its name."""
    return [
        NewDocument(
            f"{LABEL_NAME}{label}",
            dict.fromkeys(fields, "") | {fields[0]: split_name(label)},
            (label,),
            "train",
        )
        for label in categories
    ]


def _validate_run(merged: Mapping[str, Any], *, single_label: bool) -> RunSettings:
    try:
        corpus = {"name": "jsonl", "single_label": single_label}
        run = Experiment.model_validate({"corpus": corpus, "runs": {"model": merged}}).runs["model"]
        validate_parameters(run.learner, run.parameters)
    except KeyError as error:
        raise UsageError(f"there is no learner {merged['learner']!r}", hint=str(error.args[0])) from error
    except ValidationError as error:
        raise UsageError(
            f"settings: {describe_fault(error, ('runs', 'model'))}",
            hint="`textcat show --schema` says what a run takes.",
        ) from error
    return run


def make_documents(texts: Texts, fields: Sequence[str], labels: Labels | None = None) -> list[NewDocument]:
    """Return texts as documents; a plain text is the last field, a mapping names its fields."""
    found = []
    for number, text in enumerate(texts):
        if not isinstance(text, str | Mapping):
            raise UsageError(
                f"document {number} is {type(text).__name__}, not text",
                hint=f"Give texts, or mappings with the fields {', '.join(fields)}.",
            )
        values = {fields[-1]: text} if isinstance(text, str) else text
        named = read_fields(values, fields, f"document {number}")
        given: Any = () if labels is None else labels[number]
        own = (str(given),) if isinstance(given, str) else tuple(map(str, given))
        found.append(NewDocument(str(number), dict.fromkeys(fields, "") | named, own, "train"))
    return found


def check_labels(texts: Sequence[Any], labels: Sequence[Any]) -> bool:
    """Return whether each document has one label; raise UsageError for labels that do not fit."""
    if len(texts) != len(labels):
        raise UsageError(f"{len(texts)} texts and {len(labels)} labels", hint="Give one entry for each text.")
    if not texts:
        raise UsageError("there is no text to learn from", hint="Give texts and their labels.")
    single = [isinstance(label, str) for label in labels]
    if any(single) and not all(single):
        number = single.index(not single[0])
        raise UsageError(
            f"the label of document {number} is {labels[number]!r}, that of document 0 is {labels[0]!r}",
            hint="Give each document one label as text, or each a list of labels.",
        )
    for number, own in enumerate(labels):
        if not isinstance(own, str) and not (
            isinstance(own, Iterable) and all(isinstance(each, str) for each in own)
        ):
            raise UsageError(
                f"the label of document {number} is {own!r}, not text or a list of texts",
                hint="Labels are texts: str(label).",
            )
    return all(single)


def _check_categories(categories: Sequence[str], documents: Sequence[NewDocument]) -> None:
    everywhere = [name for name in categories if all(name in document.labels for document in documents)]
    if len(everywhere) == len(categories):
        named = ", ".join(map(repr, categories))
        raise UsageError(
            f"every document has the label {named}: there is nothing to learn"
            if categories
            else "no document has a label",
            hint="Add documents of another category.",
        )


def _fit_decision_rule(
    run: RunSettings,
    problem: LearningProblem,
    model: Model,
    score_folds: HeldOutScores,
    categories: Sequence[str],
    *,
    single_label: bool,
) -> DecisionRule:
    """Return thresholds, calibration and rejection, fitted on held-out scores as their settings say."""
    labels = problem.own.labels
    priors = labels.mean(axis=0)
    calibration = None
    if run.calibration is not None:
        calibration = fit_calibration(run.calibration, score_folds(run.calibration.folds)[0], labels)
    rejection = None
    if run.reject is not None and run.calibration is not None and calibration is not None:
        held_out = calibration.probabilities(score_folds(run.calibration.folds)[0])
        rejection = fit_rejection(run.reject, normalize_probabilities(held_out), labels, categories)
    thresholds, per_document = fit_thresholds(run, problem, lambda: model, score_folds, lambda: calibration)
    number = 1.0 if per_document is None else per_document
    return DecisionRule(run, single_label, thresholds, number, priors, calibration, rejection)


# One document in this many is held back while the search runs; the model is trained on all.
HELD_BACK = 10


def tune(
    texts: Any,
    labels: Any,
    *,
    time: float | None = 60.0,
    metric: str | None = None,
    folds: int = 5,
    configurations: int | None = None,
    seed: int = 1,
    jobs: int = 1,
) -> Categorizer:
    """Search features, learner and thresholds, and train the best model on all documents, within `time` seconds.

    `metric` is accuracy for one label a document and micro.f1 for several unless another is named; with
    `configurations` and without `time` the search is the same each time.
    """
    # They take long to import.
    from textcat.experiment.tune.session import TuneSettings, tune_experiment  # noqa: PLC0415
    from textcat.experiment.tune.tuned import FILE  # noqa: PLC0415

    texts, labels = list_texts(texts), list_labels(labels)
    single = check_labels(texts, labels)
    with TemporaryDirectory(prefix="textcat-tune-") as scratch:
        folder = Path(scratch)
        documents = make_documents(texts, USUAL_SETTINGS["text"]["fields"], labels)
        experiment = load_experiment(_write_experiment(folder, documents, single_label=single))
        settings = TuneSettings(metric, folds, configurations, time, seed, trainings=2)
        found = tune_experiment(
            experiment, RunContext(folder / "data", jobs=jobs), settings, folder / "tuned"
        )
        return train_categorizer(
            texts, labels, folder / "tuned" / FILE, seed=found.experiment.seed, jobs=jobs
        )


def _write_experiment(folder: Path, documents: Sequence[NewDocument], *, single_label: bool) -> Path:
    """Write documents and an experiment file with the usual settings; return the file."""
    held_back = min(HELD_BACK, len(documents))
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as stream:
        for number, document in enumerate(documents):
            if changed := [name for name in document.labels if name != name.strip() or not name]:
                # Files have no such labels: the search would see other categories than the model has.
                raise UsageError(
                    f"the label {changed[0]!r} of document {document.id} is empty or has space around it",
                    hint="Strip the labels, and leave empty ones out.",
                )
            side = "test" if number % held_back == held_back - 1 else "train"
            record = {"id": document.id, **document.fields, "labels": document.labels, "side": side}
            stream.write(json.dumps(record) + "\n")
    options = {"id": "id", "text": ["text"], "label": "labels", "side": "side"}
    corpus = {"name": "jsonl", "path": "documents.jsonl", "single_label": single_label, "options": options}
    path = folder / "experiment.yaml"
    path.write_text(
        json.dumps(
            {
                "corpus": corpus,
                "text": USUAL_SETTINGS["text"],
                "vector": USUAL_SETTINGS["vector"],
                "evaluation": {"zero_division": "skip"},
                "runs": {"model": {key: USUAL_SETTINGS[key] for key in ("learner", "parameters")}},
            }
        ),
        encoding="utf-8",
    )
    return path
