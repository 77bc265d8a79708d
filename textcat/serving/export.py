"""Write model directories from the artifacts of trained runs."""

from __future__ import annotations

import glob
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from textcat.corpora import list_vector_corpora
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.steps.decide import build_decision_rule
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectorizer, read_vectors
from textcat.serving.categorizer import Categorizer, write_categorizer
from textcat.serving.model_folders import refuse_other_files
from textcat.store.arrays import read_array
from textcat.store.files import hold_lock, make_write_error, open_staging, replace_folder


def export_models(plan: Plan, context: RunContext, target: Path) -> list[Path]:
    """Write a model directory `target/RUN` for each run (its first split or fold); return the directories."""
    folders = []
    for chain in plan.chains:
        if chain.repeat == 0:
            folder = target / chain.run
            replace_model(folder, assemble_categorizer(plan, chain, context))
            folders.append(folder)
    return folders


def assemble_categorizer(plan: Plan, chain: Chain, context: RunContext) -> Categorizer:
    """Return the categorizer made of the artifacts of one run."""
    folder = chain.vectorized.build_folder(context)
    vectors = read_vectors(folder)
    vectorizer = read_vectorizer(folder)
    given_as_vectors = plan.experiment.corpus.name in list_vector_corpora()
    if given_as_vectors:
        vectorizer = replace(vectorizer, kept=np.ones(len(vectorizer.seen), dtype=np.bool_))
    axes = {}
    if chain.projected:
        projected = chain.projected.build_folder(context)
        axes = {name: read_array(projected, name) for name in ("axes", "singular_values")}
    return Categorizer(
        experiment=plan.experiment.name,
        name=chain.run,
        categories=vectors.categories,
        vectorizer=vectorizer,
        model=load_model(chain.trained.build_folder(context)),
        decision_rule=build_decision_rule(
            context,
            chain.settings,
            chain.decided,
            chain.calibrated,
            vectors.priors,
            single_label=plan.experiment.corpus.single_label,
        ),
        axes=axes,
        given_as_vectors=given_as_vectors,
    )


def replace_model(folder: Path, categorizer: Categorizer) -> None:
    """Write a model directory in one step; until then an old one stays, also if the process is killed."""
    refuse_other_files(folder)
    try:
        with hold_lock(folder.parent / f".{folder.name}.lock"):
            for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.part"):
                shutil.rmtree(left, ignore_errors=True)
            with open_staging(folder.parent, f".{folder.name}.", ".part") as staging:
                write_categorizer(staging / "model", categorizer)
                replace_folder(staging / "model", folder)
    except OSError as error:
        raise make_write_error(folder, error) from error
