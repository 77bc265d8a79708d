"""The configurations of `textcat tune`: the choices in space.yaml, how to draw them, and what they set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from textcat.text.text_settings import TermGroup
from textcat.yaml_reader import read_packaged_yaml

# Choices that decide how text becomes vectors; they do not apply to documents that are vectors.
CHARACTER_CHOICES = ("character weight", "character weighting")
FIRST_WORDS = "first words"
NAMES = "label names"
TEXT_CHOICES = (
    "words", FIRST_WORDS, "characters", *CHARACTER_CHOICES, "word weighting", "minimum documents",
)  # fmt: skip
SOFTMAX = "softmax"
SEARCH_TOLERANCE, FINAL_TOLERANCE = 1e-2, 1e-3


@dataclass(frozen=True)
class Configuration:
    """One option for each choice, by name, in the order of the space."""

    options: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The options in one line: the key of the journal."""
        return ", ".join(
            f"{choice} {option}" for choice, option in self.options if choice not in self.idle_choices
        )

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The option of each choice."""
        return dict(self.options)

    @property
    def idle_choices(self) -> tuple[str, ...]:
        """Choices that have no effect beside the others."""
        return CHARACTER_CHOICES if self.chosen.get("characters") == "none" else ()


@dataclass(frozen=True)
class Space:
    """All configurations, in the order in which they are tried at first."""

    choices: Mapping[str, Mapping[str, Any]]
    costs: Mapping[str, Sequence[float]]
    first: Sequence[Configuration]
    first_rung_words: int
    round: int
    neighbours: int
    reduction: int

    @classmethod
    def read(
        cls,
        *,
        vectors: bool = False,
        single_label: bool = True,
        short_texts: bool = True,
        label_names: bool = False,
        large: bool = False,
    ) -> Space:
        """Return the packaged space; for documents that are `vectors` without the choices about text.

        What is tried first depends on whether the documents are `short_texts`, whose first words are not tried.
        The names of labels are tried if the documents have `label_names`. `large`: models of all n-grams would not fit
        into memory.
        """
        data = read_packaged_yaml("experiment/tune/space.yaml")
        names = list(data["choices"])
        unused = (
            *(TEXT_CHOICES if vectors else ()),
            *([FIRST_WORDS] if short_texts else ()),
            *([] if label_names else [NAMES]),
        )
        used = [name for name in names if name not in unused]
        choices = {name: dict(data["choices"][name]) for name in used}
        for name, options in data["large"].items() if large else ():
            if name in choices:
                choices[name] = {option: choices[name][option] for option in options}
        if not single_label:
            choices["loss"].pop(SOFTMAX)
        rows = [
            dict(zip(names, map(str, row), strict=True))
            for row in data["first"]["short texts" if short_texts else "long texts"]
        ]
        first = [
            Configuration(
                tuple(
                    (name, row[name] if row[name] in options else next(iter(options)))
                    for name, options in choices.items()
                )
            )
            for row in rows
        ]
        return cls(
            choices,
            data["costs"],
            list(dict.fromkeys(first)),
            *(data[key] for key in ("first_rung_words", "round", "neighbours", "reduction")),
        )

    @property
    def simplest(self) -> Configuration:
        """The first configuration with the fewest terms: single words, which are counted for every search."""
        few = {"words", FIRST_WORDS, "characters", "minimum documents"}
        return self.normalize(
            Configuration(
                tuple(
                    (choice, next(iter(self.choices[choice])) if choice in few else option)
                    for choice, option in self.first[0].options
                )
            )
        )

    @cached_property
    def all(self) -> list[Configuration]:
        """Every configuration once; choices without effect have their first option."""
        found = []
        for options in product(*self.choices.values()):
            found.append(self.normalize(Configuration(tuple(zip(self.choices, options, strict=True)))))
        return list(dict.fromkeys(found))

    def normalize(self, configuration: Configuration) -> Configuration:
        """Return the configuration with the first option of each choice that has no effect."""
        idle = configuration.idle_choices
        return Configuration(
            tuple(
                (choice, next(iter(self.choices[choice])) if choice in idle else option)
                for choice, option in configuration.options
            )
        )

    def draw_round(
        self, number: int, seed: int, tried: Sequence[Configuration], best: Configuration | None
    ) -> list[Configuration]:
        """Return the new configurations of a round: the first of the space, then neighbours of the best and others."""
        known = set(tried)
        found = [each for each in map(self.normalize, self.first) if each not in known][: self.round]
        generator = np.random.default_rng([seed, number])
        if best is not None:
            near = [each for each in self._list_neighbours(best) if each not in (*known, *found)]
            missing = max(self.neighbours - len(found), 0)
            found += [near[place] for place in generator.permutation(len(near))[:missing]]
        others = [each for each in self.all if each not in known and each not in found]
        missing = max(self.round - len(found), 0)
        return found + [others[place] for place in generator.permutation(len(others))[:missing]]

    def _list_neighbours(self, configuration: Configuration) -> Iterator[Configuration]:
        """Yield the configurations that differ in one choice."""
        for choice, options in self.choices.items():
            for option in options:
                changed = {**configuration.chosen, choice: option}
                other = self.normalize(Configuration(tuple(changed.items())))
                if other != configuration:
                    yield other

    def list_groups(self, configuration: Configuration) -> tuple[TermGroup, ...]:
        """Return the groups of terms of a configuration."""
        chosen = {choice: self.choices[choice][option] for choice, option in configuration.options}
        shared: dict[str, Any] = {"minimum_documents": chosen["minimum documents"], "norm": "l2"}
        whole = [(None, "word", *numbers) for numbers in chosen["words"]]
        words = tuple(
            TermGroup(
                analyzer=analyzer,
                ngrams=(shortest, longest),
                weight=weight,
                first_words=most,
                weighting=chosen["word weighting"],
                **shared,
            )
            for most, analyzer, shortest, longest, weight in (*whole, *chosen.get(FIRST_WORDS, ()))
        )
        if not chosen["characters"]:
            return words
        characters = TermGroup(
            analyzer="char_wb",
            ngrams=tuple(chosen["characters"]),
            weight=chosen["character weight"],
            weighting=chosen["character weighting"],
            **shared,
        )
        return (*words, characters)

    def learns_names(self, configuration: Configuration) -> bool:
        """Return whether the names of labels are training documents."""
        return bool(self.choices[NAMES][configuration.chosen[NAMES]]) if NAMES in self.choices else False

    def list_costs(self, configuration: Configuration) -> list[float]:
        """Return the values of C to try, from strong to weak regularization."""
        return [float(cost) for cost in self.costs[configuration.chosen["loss"]]]

    def make_run(self, configuration: Configuration, cost: float, *, final: bool = False) -> dict[str, Any]:
        """Return the learner and its parameters, for the search or for the tuned experiment."""
        loss = self.choices["loss"][configuration.chosen["loss"]]
        tolerance = FINAL_TOLERANCE if final else SEARCH_TOLERANCE
        if loss == SOFTMAX:
            return {"learner": SOFTMAX, "parameters": {"cost": cost, "tolerance": tolerance}}
        parameters = {"loss": loss, "cost": cost, "algorithm": "fast", "tolerance": tolerance}
        return {"learner": "linear", "parameters": parameters}
