"""The order of a search: rounds, rungs, time; with a stand-in for training whose values are known."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.tune.tuning import read_own, tune, write_questions
from textcat.experiment.tune.evaluation import PathResult, PathTask
from textcat.experiment.tune.findings import answer_more_labels, estimate_effects, extrapolate
from textcat.experiment.tune.search import Clock, Journal, Search
from textcat.experiment.tune.space import Configuration, Space
from textcat.report.tune_page import plot_effects, plot_learning_curve

WORTH = {"characters": {"char_wb 2-5": 2.0, "char_wb 1-6": 1.0}, "loss": {"logistic": 0.5, "hinge": -1.0}}


def worth_of(configuration: Configuration) -> float:
    return 80.0 + sum(WORTH.get(choice, {}).get(option, 0.0) for choice, option in configuration.options)


class Evaluator:
    """Values are sums of terms; C 1 (or 10) is best."""

    def __init__(
        self, *, folds: int = 5, small: bool = False, seconds: float = 0.0, held: int = 2000
    ) -> None:
        self.space, self.folds, self.has_small_fold = Space.read(), [(range(8), range(held))] * folds, small
        self.small, self._seconds = (range(4), range(2)), seconds
        self.calls: list[tuple[str, int | None, tuple[float, ...]]] = []

    def evaluate_all(self, tasks: Sequence[PathTask]) -> Generator[PathResult]:
        yield from (self.evaluate(*task) for task in tasks)

    def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
        self.calls.append((configuration.name, fold, tuple(costs)))
        best = self.space.list_costs(configuration)[2]
        values = {
            cost: {"default": worth_of(configuration) - abs(cost - best) / 100 - 5 * (fold is None)}
            for cost in costs
        }
        return PathResult(values, self._seconds, self._seconds)


def search_with(folder: Path, evaluator: Any, **settings: Any) -> Search:
    search = Search(evaluator, Journal(folder / "journal.json", "key"), 1, **settings)
    search.run()
    return search


def test_the_best_configuration_of_the_space_is_found(tmp_path: Path) -> None:
    evaluator = Evaluator()
    search = search_with(tmp_path, evaluator, most=60)
    assert search.best is not None
    assert worth_of(search.best.configuration) == max(map(worth_of, evaluator.space.all))
    assert search.best.folds == [0, 1, 2, 3, 4]
    assert search.best.find_best()[0] == evaluator.space.list_costs(search.best.configuration)[2]
    assert search.stopped_by == "configurations"


def test_few_go_on_to_all_folds_and_those_are_the_best_of_their_round(tmp_path: Path) -> None:
    search = search_with(tmp_path, Evaluator(), most=9)
    by_folds = sorted(search.candidates, key=lambda each: -len(each.folds))
    assert [len(each.folds) for each in by_folds] == [5, 3, 3, 1, 1, 1, 1, 1, 1]
    least = min(worth_of(each.configuration) for each in by_folds[:3])
    assert all(worth_of(each.configuration) <= least for each in by_folds[3:])


def test_of_equals_the_first_go_on_and_the_strongest_regularization_is_best(tmp_path: Path) -> None:
    class Equal(Evaluator):
        def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
            return PathResult({cost: {"default": 80.0, "shared": 80.0} for cost in costs}, 0.0, 0.0)

    search = search_with(tmp_path, Equal(), most=9)
    assert [len(each.folds) for each in search.candidates] == [5, 3, 3, 1, 1, 1, 1, 1, 1]
    assert search.best is search.candidates[0]
    assert search.best.find_best() == (
        search.evaluator.space.list_costs(search.best.configuration)[0],
        "default",
        80.0,
    )


@pytest.mark.parametrize(("below", "folds"), [(0.9, 3), (1.0, 1)])
def test_a_point_below_the_best_so_far_none_goes_on(below: float, folds: int, tmp_path: Path) -> None:
    class Later(Evaluator):
        def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
            self.calls.append((configuration.name, fold, tuple(costs)))
            first = {name for name, _, _ in self.calls}
            value = 80.0 if len(first) <= 9 else 80.0 - below
            return PathResult({cost: {"default": value} for cost in costs}, 0.0, 0.0)

    search = search_with(tmp_path, Later(), most=18)
    assert {len(each.folds) for each in search.candidates[9:]} == {1, folds} | ({5} if folds > 1 else set())


@pytest.mark.parametrize(
    ("held", "rungs"),
    [
        (1000, [[0], [1, 2], [3, 4]]),
        (500, [[0, 1], [2], [3, 4]]),
        (300, [[0, 1, 2, 3], [], [4]]),
        (20, [[0, 1, 2, 3, 4], [], []]),
    ],
)
def test_of_few_documents_more_folds_are_measured_at_once(
    held: int, rungs: list[list[int]], tmp_path: Path
) -> None:
    search = search_with(tmp_path, Evaluator(held=held), most=30)
    assert search.rungs == rungs
    assert {len(each.folds) for each in search.candidates} >= {len(rungs[0]), 5}
    assert min(len(each.folds) for each in search.candidates) == len(rungs[0])


@pytest.mark.parametrize("small", [False, True])
def test_nothing_is_measured_twice_and_all_values_of_c_only_for_the_first_of_a_kind(
    tmp_path: Path, small: bool
) -> None:
    evaluator = Evaluator(small=small)
    search = search_with(tmp_path, evaluator, most=30)
    fits = [(name, fold, cost) for name, fold, costs in evaluator.calls for cost in costs]
    assert len(set(fits)) == len(fits)
    paths = [(name, fold, len(costs)) for name, fold, costs in evaluator.calls if len(costs) > 1]
    kinds = [(name.rpartition("loss ")[2], "characters none" in name) for name, _, _ in paths]
    assert len(set(kinds)) == len(kinds) <= 8
    assert all(fold == (None if small else 0) for _, fold, _ in paths)
    assert len(search.candidates) == 30
    assert len({each.configuration for each in search.candidates}) == 30


def test_values_of_c_beside_that_of_a_new_best_are_tried_on_all_its_folds(tmp_path: Path) -> None:
    class Moving(Evaluator):
        """The first configurations are best at C 1, and those with 1-6 characters, which are better, at C 10."""

        def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
            self.calls.append((configuration.name, fold, tuple(costs)))
            longer = configuration.chosen["characters"] == "char_wb 1-6"
            all_costs = self.space.list_costs(configuration)
            best = all_costs[-1 if longer else 2]
            value = 80.0 + 5 * longer
            steps = {cost: abs(all_costs.index(cost) - all_costs.index(best)) for cost in costs}
            return PathResult({cost: {"default": value - steps[cost] / 10} for cost in costs}, 0.0, 0.0)

    search = search_with(tmp_path, Moving(), most=9)
    assert search.best is not None
    assert search.best.configuration.chosen["characters"] == "char_wb 1-6"
    assert search.best.find_best() == (10.0, "default", 85.0)
    assert all(10.0 in search.best.paths[fold].values for fold in range(5))


def test_time_cuts_the_list_and_changes_nothing_else(tmp_path: Path) -> None:
    whole = search_with(tmp_path / "a", Evaluator(), most=30)
    ticks = iter(range(100))
    evaluator = Evaluator(seconds=1.0)
    search = Search(evaluator, Journal(tmp_path / "b" / "j.json", "k"), 1, None, 40.0)  # type: ignore[arg-type]
    type(search).elapsed, kept = property(lambda self: float(next(ticks))), type(search).elapsed  # type: ignore[method-assign,assignment,misc]
    try:
        search.run()
    finally:
        type(search).elapsed = kept  # type: ignore[method-assign]
    assert search.stopped_by == "time"
    assert 30 <= len(evaluator.calls) <= 41
    tried = [each.configuration for each in search.candidates]
    assert tried == [each.configuration for each in whole.candidates][: len(tried)]


class Look:
    """Counting characters takes 100 s, other n-grams 5 s; training takes 1 s for each C."""

    number = 8

    def __init__(self, clock: Spent) -> None:
        self.clock, self.counted = clock, set[str]()

    def expect_counting(self, configuration: Configuration, *, missing: bool = False) -> float:
        chosen = configuration.chosen
        costs = {chosen["characters"]: 0 if chosen["characters"] == "none" else 100}
        costs[chosen["words"]] = 0 if chosen["words"] == "1" else 5
        return sum(cost for name, cost in costs.items() if not missing or name not in self.counted)

    def expect_fit(self, configuration: Configuration) -> float:
        return 1.0


class Spent(Clock):
    """A clock that paths move."""

    seconds = 0.0

    @property
    def elapsed(self) -> float:
        return self.seconds


class Costly(Evaluator):
    """Paths take as long as they are expected to take."""

    look: Look

    def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
        once = self.look.expect_counting(configuration, missing=True)
        self.look.counted |= {configuration.chosen["words"], configuration.chosen["characters"]}
        spent = once + len(costs)
        self.look.clock.seconds += spent
        return PathResult(super().evaluate(configuration, fold, costs).values, spent, spent, once, once)


def search_for(seconds: float, spent: float, folder: Path) -> Search:
    clock, evaluator = Spent(), Costly()
    clock.seconds, evaluator.look = spent, Look(clock)
    search = Search(
        evaluator, Journal(folder / "j.json", "k"), 1, None, seconds, None, 11.0, clock, evaluator.look
    )  # type: ignore[arg-type]
    search.run()
    return search


def test_configurations_that_do_not_fit_into_the_time_are_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = []
    for limit in (60.0, 400.0):
        search = search_for(limit, 2.0, tmp_path / str(limit))
        best = search.best
        assert best is not None and search.stopped_by == "time"
        # Counts are joined once more for the final model, which takes about eleven times a path.
        assert search.elapsed + search.look.expect_counting(best.configuration) + 11.0 <= limit  # type: ignore[union-attr]
        assert len(search.candidates) > 5
        kinds.append({each.configuration.chosen["characters"] for each in search.candidates})
    assert kinds[0] == {"none"} < kinds[1]
    assert not caplog.records


def test_where_no_time_is_left_the_simplest_configuration_is_measured_and_its_cost_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    search = search_for(10.0, 9.5, tmp_path)
    assert [each.configuration for each in search.candidates] == [search.evaluator.space.simplest]
    assert "The limit of 10 s cannot be kept: 10 s are over" in caplog.text
    assert "take about 16 s" in caplog.text


@pytest.mark.parametrize("short", [True, False])
def test_each_configuration_is_drawn_once_and_sets_what_it_says(short: bool) -> None:
    # Many configurations a round: drawing goes through the whole space each time.
    space = replace(Space.read(short_texts=short), round=1000)
    assert ("first words" in space.choices) != short
    tried: list[Configuration] = []
    while drawn := space.draw_round(len(tried), 1, tried, tried[0] if tried else None):
        tried += drawn
    assert len(set(tried)) == len(tried) == len(space.all)
    for configuration in space.all:
        groups = space.list_groups(configuration)
        words = 1 if configuration.chosen["words"] in ("1", "1-2") else 2
        named, _, characters = configuration.chosen.get("first words", "none").partition(" and ")
        numbers = [] if named == "none" else [int(number) for number in named.split(", ")]
        numbers += numbers[-1:] if characters else []
        assert [group.first_words for group in groups if group.first_words] == numbers
        assert len(groups) == words + len(numbers) + (configuration.chosen["characters"] != "none")
        assert groups[0].weighting == configuration.chosen["word weighting"]
        assert groups[-1].minimum_documents == int(configuration.chosen["minimum documents"])
    assert space.first[0] in space.all


@pytest.mark.parametrize("short", [True, False])
def test_without_room_for_n_grams_only_words_are_tried(short: bool) -> None:
    whole, space = (Space.read(short_texts=short, large=large) for large in (False, True))
    assert 0 < len(space.all) < len(whole.all) / 20
    assert set(map(space.normalize, space.first)) <= set(space.all)
    for configuration in space.all:
        for group in space.list_groups(configuration):
            assert group.analyzer == "word" and group.minimum_documents == 2
            assert group.ngrams == (1, 1) or group.first_words


def test_neighbours_differ_in_one_choice() -> None:
    space = Space.read()
    best = space.first[0]
    drawn = space.draw_round(1, 1, space.first, best)
    distances = [sum(best.chosen[choice] != option for choice, option in each.options) for each in drawn]
    near = [
        distance
        for distance, each in zip(distances, drawn, strict=True)
        if each.chosen["characters"] != "none"
    ]
    assert len(drawn) == space.round
    assert sum(distance == 1 for distance in near) >= space.neighbours - 1


def test_main_effects_of_a_sum_are_its_terms(tmp_path: Path) -> None:
    """Effects are differences from the options of the best configuration."""
    search = search_with(tmp_path, Evaluator(), most=80)
    assert search.best is not None
    chosen = search.best.configuration.chosen
    effects = estimate_effects(search)
    for choice, options in effects.items():
        worth = WORTH.get(choice, {})
        for option, effect in options.items():
            expected = worth.get(option, 0.0) - worth.get(chosen[choice], 0.0)
            assert effect == pytest.approx(expected, abs=0.02), (choice, option)


@pytest.mark.parametrize("number", range(1, 13))
def test_effects_that_the_candidates_do_not_determine_are_unknown(number: int, tmp_path: Path) -> None:
    """An effect is given only if adding a constant to all configurations with the option changes it by as much."""
    search = search_with(tmp_path, Evaluator(), most=number)
    assert search.best is not None
    chosen = search.best.configuration.chosen
    effects = estimate_effects(search)
    if number == 1:
        assert {effect for options in effects.values() for effect in options.values()} == {0.0, None}
    for choice, options in effects.items():
        assert options[chosen[choice]] == 0.0
        worth = WORTH.get(choice, {})
        for option, effect in options.items():
            expected = worth.get(option, 0.0) - worth.get(chosen[choice], 0.0)
            assert effect is None or effect == pytest.approx(expected, abs=0.02), (choice, option)
    drawn = plot_effects({"effects": effects, "metric": "accuracy", "best": {"options": chosen}})
    compared = [
        choice
        for choice, options in effects.items()
        if any(effect is not None and option != chosen[choice] for option, effect in options.items())
    ]
    assert (drawn is None) == (not compared)
    if drawn is not None:
        words = [text.get_text() for text in drawn.axes[0].texts]
        assert words.count("chosen") == len(compared)
    tried = [each.configuration.chosen for each in search.candidates]
    known = [option for option, effect in effects["loss"].items() if effect is not None]
    assert set(known) <= {each["loss"] for each in tried}


def test_options_that_are_worth_nothing_are_not_called_chosen() -> None:
    effects = {"words": {"1": 0.0, "1-2": 0.0, "2": None}, "loss": {"hinge": 0.0, "logistic": None}}
    report = {"metric": "accuracy", "best": {"options": {"words": "1-2", "loss": "hinge"}}}
    drawn = plot_effects({**report, "effects": effects})
    assert drawn is not None
    assert [text.get_text() for text in drawn.axes[0].texts] == ["+0.00", "chosen"]


def test_a_power_law_is_continued() -> None:
    documents = [100, 200, 400, 800]
    values = [100 - 40 * (n / 100) ** -0.5 for n in documents]
    assert extrapolate(documents, values, values[-1]) == pytest.approx(100 - 40 * 16**-0.5)
    # The error falls by the square root of two, from that of any value.
    assert extrapolate(documents, values, 90.0) == pytest.approx(100 - 10 * 2**-0.5)
    assert extrapolate(documents, [90.0, 90.0, 89.0, 88.0], 88.0) is None
    assert extrapolate(documents, [90.0, 99.0, 100.0, 100.0], 100.0) is None
    assert answer_more_labels(80.0, 85.0, "accuracy").startswith("More labels would help")
    assert answer_more_labels(80.0, 80.1, "accuracy").startswith("More labels would hardly help")
    assert "not expected to help" in answer_more_labels(80.0, None, "accuracy")
    assert answer_more_labels(100.0, None, "accuracy").endswith("no held-out document is wrong.")


def test_a_journal_keeps_paths_and_is_not_read_under_another_key(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    result = PathResult({0.1: {"default": 50.0}, 1.0: {"default": 60.0}}, 1.5, 2.5)
    Journal.open(path, "a").add("one", result)
    assert Journal.open(path, "a").find("one") == result
    assert Journal.open(path, "a").find("two") is None
    assert Journal.open(path, "b").find("one") is None


def test_time_for_what_follows_is_that_of_the_fastest_configuration_like_the_best(tmp_path: Path) -> None:
    class SlowAtFirst(Evaluator):
        """The first path takes 40 seconds, in which documents are counted, and others one."""

        def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
            values = super().evaluate(configuration, fold, costs).values
            seconds = 1.0 if len(self.calls) > 1 else 40.0
            return PathResult(values, seconds, seconds)

    class Timed(Search):
        @property
        def elapsed(self) -> float:
            return self.spent

    search = Timed(SlowAtFirst(), Journal(tmp_path / "j.json", "k"), 1, None, 72.5, reserved_fits=3.0)  # type: ignore[arg-type]
    search.run()
    # The first path took eight seconds for each C. Three times that would leave no time for a third configuration.
    assert search.stopped_by == "time"
    assert len(search.candidates) == 3


@pytest.mark.parametrize("by_processor", [False, True])
def test_the_time_of_counting_is_not_expected_of_other_paths(tmp_path: Path, by_processor: bool) -> None:
    """The first path takes 41 seconds, 40 of them for counting: what follows is expected to take 43."""

    class CountsAtFirst(Evaluator):
        def evaluate(self, configuration: Configuration, fold: int | None, costs: Any) -> PathResult:
            values = super().evaluate(configuration, fold, costs).values
            once = 0.0 if len(self.calls) > 1 else 40.0
            return PathResult(values, 1.0 + once, 1.0 + once, once, once)

    class Timed(Search):
        @property
        def elapsed(self) -> float:
            return self.processor_spent if self.clock.by_processor else self.spent

    journal = Journal(tmp_path / "j.json", "k")
    clock = Clock(by_processor=by_processor)
    search = Timed(CountsAtFirst(), journal, 1, None, 90.0, None, 3.0, clock)  # type: ignore[arg-type]
    search.run()
    assert search.stopped_by == "time"
    assert len(search.candidates) >= 5
    assert 45.0 < search.elapsed < 50.0
    assert Journal.open(tmp_path / "j.json", "k").entries == journal.entries


@pytest.mark.parametrize("several", [False, True])
def test_the_learning_curve_starts_from_the_value_in_cross_validation(several: bool, tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv", several=several))
    report = tune(tmp_path, experiment, configurations=2, folds=4).report
    curve, value = report["learning_curve"], report["best"]["value"]
    assert curve["value"] == pytest.approx(value, abs=1e-3)
    if curve["twice"] is not None:
        assert value <= curve["twice"] < 100
        assert f"by about {curve['twice'] - value:.1f} points" in curve["answer"]
    (drawn,) = [line for line in plot_learning_curve(report).axes[0].lines if line.get_linestyle() == "--"]  # type: ignore[union-attr]
    assert drawn.get_ydata()[0] == curve["value"]
