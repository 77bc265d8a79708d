"""What configurations cost, before they are measured: a first look at a sample of the documents.

Groups of terms are counted in the first documents, and single words train one model on part of the first rung. Counting
and training take time in proportion to the text and to its counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from textcat.experiment.tune.documents import SINGLE_WORDS, TrainingDocuments
from textcat.experiment.tune.evaluation import Evaluator
from textcat.experiment.tune.space import Configuration
from textcat.text.text_settings import TermGroup

if TYPE_CHECKING:
    from textcat.corpora.document import Document
    from textcat.experiment.tune.search import Clock

# The size of the sample for counting, in characters, and for training, in different words summed over documents.
SAMPLE_CHARACTERS, SAMPLE_WORDS = 300_000, 50_000


@dataclass
class FirstLook:
    """The costs of configurations, expected from a sample; `scale` leads from it to all documents."""

    evaluator: Evaluator
    clock: Clock
    sample: list[Document]
    scale: float = 0.0
    seconds_per_count: float = 0.0
    _groups: dict[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def take(cls, evaluator: Evaluator, clock: Clock) -> FirstLook:
        """Count single words of the sample, and train on them."""
        documents = evaluator.documents
        look = cls(evaluator, clock, documents.read_sample(SAMPLE_CHARACTERS))
        whole = documents.count(SINGLE_WORDS).documents.counts.nnz
        look.scale = whole / max(documents.count_sample(look.sample, SINGLE_WORDS), 1)
        look.seconds_per_count = look._time_training()
        return look

    def _time_training(self) -> float:
        """Return the seconds for each count of a training document."""
        kept, held = self.evaluator.small
        words = self.evaluator.documents.count_words()
        enough = int(np.searchsorted(np.cumsum(words[kept]), SAMPLE_WORDS)) + 1
        # Documents in the order of the collection may be of one category.
        kept = np.sort(np.random.default_rng(self.evaluator.seed).permutation(kept)[:enough])
        rows, simplest = (kept, held[: max(len(kept), 100)]), self.evaluator.space.simplest
        cost = self.evaluator.space.list_costs(simplest)[1]
        spent = 0.0
        # The first time also loads compiled code.
        for name in ("compiling", "look"):
            started = self.clock.elapsed
            self.evaluator.measure_rows(simplest, rows, name, [cost])
            spent = self.clock.elapsed - started
        return spent / max(int(words[kept].sum()), 1)

    @property
    def number(self) -> int:
        """The number of training documents."""
        return self.evaluator.documents.number

    def expect_counting(self, configuration: Configuration, *, missing: bool = False) -> float:
        """Return the seconds to count all groups of a configuration, or those that are not counted yet."""
        groups = self.evaluator.space.list_groups(configuration)
        wanted = [each for each in groups if not (missing and self.evaluator.documents.has_counts(each))]
        return sum(self._measure_group(group)[0] for group in wanted)

    def expect_fit(self, configuration: Configuration) -> float:
        """Return the seconds to train a configuration on all training documents with one C."""
        counts = sum(
            self._measure_group(group)[1] for group in self.evaluator.space.list_groups(configuration)
        )
        return counts * self.seconds_per_count

    def _measure_group(self, group: TermGroup) -> tuple[float, float]:
        """Return the expected seconds to count a group, and the number of its counts of training documents."""
        documents: TrainingDocuments = self.evaluator.documents
        key = group.model_dump_json(include={"analyzer", "ngrams", "first_words"})
        if key not in self._groups:
            documents.count_sample(self.sample[:1], group)
            started = self.clock.elapsed
            counts = documents.count_sample(self.sample, group)
            spent = self.clock.elapsed - started
            share = len(documents.rows) / len(documents.count(SINGLE_WORDS).documents.ids)
            self._groups[key] = (self.scale * spent, self.scale * share * counts)
        return self._groups[key]
