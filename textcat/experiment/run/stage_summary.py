"""What a stage has made, in the lines that the commands of the stages print."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Chain, Plan
from textcat.experiment.steps.models import extract_certificates
from textcat.experiment.steps.tokenize import read_counts
from textcat.experiment.steps.vectorize import read_selection, read_vectors
from textcat.selection import score_features
from textcat.store.arrays import read_json

LARGEST = 5
BEST = 10


def summarize_stage(plan: Plan, context: RunContext, stage: str) -> Iterator[str]:
    """Yield the lines on the stage `tokenize`, `select` or `train`, once for all runs that share its steps."""
    if stage == "train":
        yield from _summarize_training(plan, context)
        return
    groups: dict[tuple[str, ...], list[Chain]] = defaultdict(list)
    for chain in plan.chains:
        if chain.repeat == 0:
            steps = (chain.tokenized, *([] if stage == "tokenize" else [chain.vectorized, chain.selected]))
            groups[tuple(step.recipe.key for step in steps if step)].append(chain)
    summarize = _summarize_counts if stage == "tokenize" else _summarize_selection
    for chains in groups.values():
        if len(groups) > 1:
            yield f"{', '.join(chain.run for chain in chains)}:"
        yield from summarize(chains[0], plan, context)


def _summarize_counts(chain: Chain, plan: Plan, context: RunContext) -> Iterator[str]:
    counts = read_counts(chain.tokenized.read_folder(context))
    documents = counts.documents
    sides = Counter(documents.split)
    divided = "" if plan.experiment.resample else f" ({sides['train']:,} training, {sides['test']:,} test)"
    number = f"{plan.experiment.corpus.name}: {len(documents.ids):,} documents{divided}"
    if counts.weighted:
        yield f"{number}, {len(documents.terms):,} columns, {len(counts.categories):,} categories"
        return
    words = "words and n-grams" if documents.group_ends else "words"
    yield (
        f"{number}, {int(documents.counts.sum()):,} {words}, {len(documents.terms):,} different terms, "
        f"{len(counts.categories):,} categories"
    )


def _summarize_selection(chain: Chain, plan: Plan, context: RunContext) -> Iterator[str]:
    """Yield the numbers of features, and the best ones of the largest categories by the run's selection score."""
    vectors = read_vectors(chain.vectorized.read_folder(context))
    mask = read_selection(chain.selected, context)
    settings, terms = chain.settings.selection, len(vectors.terms)
    if mask is None:
        yield f"all {terms:,} terms are features"
    else:
        each = mask.sum(axis=0)
        number = f"{each.min():,}" if each.min() == each.max() else f"{each.min():,} to {each.max():,}"
        yield f"{number} of {terms:,} terms are features of a category"
    largest = np.argsort(-vectors.train_counts, kind="stable")[:LARGEST]
    labels = vectors.own_labels[:, largest].toarray()
    scores = score_features(settings.score, vectors.train[: vectors.train_documents], labels)
    if mask is not None:
        scores[~mask[:, largest]] = -np.inf
    yield f"The best by {settings.score}, in the largest of {len(vectors.categories):,} categories:"
    rows = []
    for column, category in enumerate(largest):
        order = np.argsort(-scores[:, column], kind="stable")[:BEST]
        best = [vectors.terms[row] for row in order if np.isfinite(scores[row, column])]
        rows.append([vectors.categories[category], f"{vectors.train_counts[category]:,}", ", ".join(best)])
    yield _format_rows(["category", "documents", "best terms"], rows)


def _summarize_training(plan: Plan, context: RunContext) -> Iterator[str]:
    """Yield a table of the runs, with the mean of passes over categories and the seconds of all repetitions."""
    rows = []
    for name in plan.experiment.runs:
        chains = [chain for chain in plan.chains if chain.run == name]
        made = [chain.trained.read_artifact(context) for chain in chains]
        description = read_json(made[0].folder, "model")
        passes = [entry["passes"] for entry in extract_certificates(description) if entry.get("passes")]
        categories = read_json(chains[0].vectorized.read_folder(context), "categories")
        rows.append(
            [
                name,
                f"{len(categories):,}",
                f"{np.mean(passes):,.0f}" if passes else "",
                f"{sum(artifact.seconds for artifact in made):.1f}",
            ]
        )
    yield _format_rows(["run", "categories", "passes", "seconds"], rows)


def _format_rows(names: list[str], rows: Iterable[list[Any]]) -> str:
    from tabulate import tabulate  # noqa: PLC0415 - only commands print

    return tabulate(rows, headers=names, tablefmt="simple", disable_numparse=True)
