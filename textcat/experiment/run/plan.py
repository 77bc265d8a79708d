"""Plan the steps of an experiment. Runs share every step with the same recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from textcat.experiment.context import Step
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.decide import make_calibrate_step, make_decide_step
from textcat.experiment.steps.evaluate import make_evaluate_step
from textcat.experiment.steps.intervals import make_intervals_step
from textcat.experiment.steps.tokenize import make_tokenize_step
from textcat.experiment.steps.train import make_train_step
from textcat.experiment.steps.vectorize import (
    LearningSteps,
    make_project_step,
    make_select_step,
    make_vectorize_step,
)

STAGES = ("fetch", "tokenize", "select", "train", "evaluate", "report")


@dataclass(frozen=True, kw_only=True)
class Chain(LearningSteps):
    """The steps of one run in one repetition."""

    run: str
    trained: Step
    calibrated: Step | None
    decided: Step
    evaluated: Step

    def steps(self) -> Iterator[Step]:
        """Yield the steps in the order in which they are built."""
        learned_from = (self.tokenized, self.vectorized, self.selected, self.projected)
        yield from filter(None, (*learned_from, self.trained, self.calibrated, self.decided, self.evaluated))


@dataclass(frozen=True)
class Plan:
    """The steps of all runs and repetitions of an experiment, and the steps that find the intervals of each run."""

    experiment: Experiment
    chains: tuple[Chain, ...]
    intervals: Mapping[str, Step]

    def steps(self, until: str = "evaluate", *, intervals: bool = False) -> list[Step]:
        """Return each different step once, up to and including a stage; those of intervals only if asked for."""
        last = STAGES.index(until)
        seen: dict[str, Step] = {}
        for chain in self.chains:
            for step in chain.steps():
                if STAGES.index(step.stage) <= last:
                    seen.setdefault(step.recipe.key, step)
        if intervals and last >= STAGES.index("evaluate"):
            seen |= {step.recipe.key: step for step in self.intervals.values()}
        return list(seen.values())


def make_plan(experiment: Experiment, corpus_folder: Path, fingerprint: str) -> Plan:
    """Return the plan for documents in `corpus_folder` whose contents have that fingerprint."""
    repeats = experiment.resample.number if experiment.resample else 1
    chains = [
        _make_chain(experiment, name, repeat, corpus_folder, fingerprint)
        for repeat in range(repeats)
        for name in experiment.runs
    ]
    intervals = {
        name: make_intervals_step(experiment, [chain for chain in chains if chain.run == name])
        for name in experiment.runs
    }
    return Plan(experiment, tuple(chains), intervals)


def _make_chain(experiment: Experiment, name: str, repeat: int, folder: Path, fingerprint: str) -> Chain:
    run, seed = experiment.runs[name], experiment.seed
    tokenized = make_tokenize_step(
        experiment, run.text, folder, fingerprint, keeps_texts=run.selection.folds == "inside"
    )
    vectorized = make_vectorize_step(experiment, run, repeat, tokenized)
    selected = make_select_step(run, vectorized)
    # Latent dimensions do not depend on labels: compute them with all categories, so that experiments share them.
    corpus = experiment.corpus.model_copy(update={"learn": None})
    unlabelled = make_vectorize_step(experiment.model_copy(update={"corpus": corpus}), run, repeat, tokenized)
    projected = make_project_step(run, seed, unlabelled)
    source = LearningSteps(
        run, seed, experiment.corpus, experiment.resample, repeat, tokenized, vectorized, selected, projected
    )
    trained = make_train_step(source)
    calibrated = make_calibrate_step(source, trained)
    decided = make_decide_step(source, trained, calibrated)
    evaluated = make_evaluate_step(experiment, source, trained, decided, calibrated)
    return Chain(
        **vars(source), run=name, trained=trained, calibrated=calibrated, decided=decided, evaluated=evaluated
    )
