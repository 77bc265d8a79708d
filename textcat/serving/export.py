"""From the artifacts of a trained run to a model directory."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from textcat.corpora import list_vector_corpora
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.steps.decide import load_decision_rule
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectorizer, read_vectors
from textcat.serving.categorizer import Categorizer, write_categorizer
from textcat.store.arrays import read_array
from textcat.store.files import make_write_error


def export_models(plan: Plan, context: RunContext, target: Path) -> list[Path]:
    """A model directory for each run (of the first split or fold), in `target/RUN`, replaced whole."""
    folders = []
    for chain in plan.chains:
        if chain.repeat == 0:
            folder = target / chain.run
            _replace_model(folder, assemble_categorizer(plan, chain, context))
            folders.append(folder)
    return folders


def assemble_categorizer(plan: Plan, chain: Chain, context: RunContext) -> Categorizer:
    """Everything a chain's steps left that new documents need."""
    folder = chain.vectorized.build_artifact(context).folder
    vectors = read_vectors(folder)
    vectorizer = read_vectorizer(folder)
    given_as_vectors = plan.experiment.corpus.name in list_vector_corpora()
    if given_as_vectors:
        vectorizer = replace(vectorizer, kept=np.ones(len(vectorizer.seen), dtype=np.bool_))
    axes = {}
    if chain.projected:
        projected = chain.projected.build_artifact(context).folder
        axes = {name: read_array(projected, name) for name in ("axes", "singular_values")}
    return Categorizer(
        experiment=plan.experiment.name,
        name=chain.run,
        categories=vectors.categories,
        vectorizer=vectorizer,
        model=load_model(chain.trained.build_artifact(context).folder),
        decision_rule=load_decision_rule(
            chain.settings,
            chain.decided.build_artifact(context).folder,
            chain.calibrated.build_artifact(context).folder if chain.calibrated else None,
            vectors.priors,
            single_label=plan.experiment.corpus.single_label,
        ),
        axes=axes,
        given_as_vectors=given_as_vectors,
    )


def _replace_model(folder: Path, categorizer: Categorizer) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        try:
            write_categorizer(staging / "new", categorizer)
            if folder.exists():
                folder.replace(staging / "old")
            (staging / "new").replace(folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise make_write_error(folder, error) from error
