"""Names, identities and faults of plugins, with made entry points in place of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from textcat import plugins
from textcat.errors import BadDataError, StageFailedError, TextcatError, UsageError
from textcat.evaluation.run_measures import compute_plugin_measures
from textcat.plugins import (
    PLUGIN_KINDS,
    KnownName,
    Plugin,
    collect_identities,
    find_plugin,
    list_known_names,
    list_plugins,
    load_plugin,
    wrap_plugin_function,
)
from textcat.thresholds.rules import ThresholdSettings, set_thresholds

Install = Callable[..., Plugin]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make plugins: kind, name, the object that the entry point leads to, and the package."""
    made: list[Plugin] = []

    class Entry:
        """An entry point that leads to a given object, or fails with a given error."""

        def __init__(self, found: Any) -> None:
            self.value, self.module, self._found = "package:thing", "package_of_nobody", found

        def load(self) -> Any:
            if isinstance(self._found, Exception):
                raise self._found
            return self._found

    def add(kind: str, name: str, found: Any = len, package: str = "textcat-own 1.0") -> Plugin:
        distribution, version = package.split()
        plugin = Plugin(kind, name, distribution, version, Entry(found))  # type: ignore[arg-type]
        made.append(plugin)
        return plugin

    monkeypatch.setattr(
        plugins, "list_plugins", lambda kind: tuple(each for each in made if each.kind == kind)
    )
    return add


@pytest.mark.parametrize("kind", PLUGIN_KINDS)
def test_a_plugin_is_found_by_its_kind_and_name(kind: str, install: Install) -> None:
    plugin = install(kind, "mine")
    for other in PLUGIN_KINDS:
        assert find_plugin(other, "mine", ()) is (plugin if other == kind else None)
    assert find_plugin(kind, "yours", ()) is None
    assert list_known_names(kind, ["own"]) == ["own", "mine"]
    assert (plugin.identity, plugin.title) == (
        "textcat-own 1.0",
        f"the {PLUGIN_KINDS[kind]} 'mine' of textcat-own 1.0",
    )


@pytest.mark.parametrize(
    ("own", "packages", "holders"),
    [
        (["mine"], ["a 1"], "textcat itself and by a 1"),
        ([], ["a 1", "b 2"], "a 1 and by b 2"),
        (["mine"], ["a 1", "b 2"], "textcat itself and by a 1 and by b 2"),
    ],
)
def test_a_name_has_one_holder(own: list[str], packages: list[str], holders: str, install: Install) -> None:
    for package in packages:
        install("losses", "mine", package=package)
    with pytest.raises(UsageError, match=f"declared by {holders}") as caught:
        find_plugin("losses", "mine", own)
    assert caught.value.where == "entry points textcat.losses"
    assert list_known_names("losses", own) == [*own, *([] if own else ["mine"])]


def test_only_the_plugins_that_are_used_enter_a_recipe(install: Install) -> None:
    install("losses", "mine", package="a 1")
    install("priors", "mine", package="b 2")
    assert collect_identities(("losses", "logistic"), ("priors", None)) == {}
    assert collect_identities(("losses", "mine"), ("priors", "mine"), ("tokenizers", "mine")) == {
        "plugins": {"losses.mine": "a 1", "priors.mine": "b 2"}
    }


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        (len, None, None),
        (3, None, "it must be a function, not 3"),
        (3, int, None),
        ("x", int, "it must be a builtins.int, not 'x'"),
        (ImportError("no module"), None, "ImportError: no module"),
    ],
)
def test_what_is_loaded_has_the_expected_type(
    found: Any, expected: Any, message: str | None, install: Install
) -> None:
    plugin = install("losses", "mine", found)
    if message is None:
        assert load_plugin(plugin, expected) is found
        return
    with pytest.raises(StageFailedError, match=message) as caught:
        load_plugin(plugin, expected)
    assert caught.value.what.startswith("the loss 'mine' of textcat-own 1.0 cannot be loaded: ")
    assert caught.value.where == "package:thing"
    assert "textcat-own" in caught.value.hint


def test_errors_of_a_plugin_name_it_and_textcats_own_pass_through(install: Install) -> None:
    plugin = install("measures", "mine")

    def fail(error: Exception) -> None:
        raise error

    guarded = wrap_plugin_function(plugin, fail)
    with pytest.raises(
        StageFailedError, match=r"the measure 'mine' of textcat-own 1\.0 failed: ValueError: no"
    ) as caught:
        guarded(ValueError("no"))
    assert isinstance(caught.value.__cause__, ValueError)
    own = BadDataError("own", hint="hint")
    with pytest.raises(TextcatError) as passed:
        guarded(own)
    assert passed.value is own
    assert wrap_plugin_function(plugin, divmod)(7, 2) == (3, 1)


def test_a_setting_takes_textcats_names_and_those_of_plugins(install: Install) -> None:
    class Settings(BaseModel):
        loss: Annotated[str, KnownName("losses", lambda: ["logistic", "hinge"])]

    install("losses", "mine")
    assert [Settings(loss=name).loss for name in ("hinge", "mine")] == ["hinge", "mine"]
    for name, message in (("hige", "did you mean 'hinge'"), ("xyz", "known names: logistic, hinge, mine")):
        with pytest.raises(ValidationError, match=message):
            Settings(loss=name)
    schema = Settings.model_json_schema()["properties"]["loss"]
    assert schema["enum"] == ["logistic", "hinge", "mine"]
    install("losses", "hinge", package="b 2")
    with pytest.raises(ValidationError, match="declared by textcat itself and by b 2"):
        Settings(loss="hinge")
    install("losses", "broken", ImportError("no module"))
    with pytest.raises(ValidationError, match="cannot be loaded"):
        Settings(loss="broken")


@pytest.mark.parametrize("returned", [np.zeros(3), np.zeros((2, 1)), [0.0, np.nan], 0.0])
def test_thresholds_of_a_plugin_are_one_number_per_category(returned: Any, install: Install) -> None:
    scores, labels = np.zeros((4, 2)), np.zeros((4, 2), dtype=bool)
    asked: list[Any] = []

    def rule(*given: Any) -> Any:
        asked.append(given)
        return answers.pop()

    install("thresholds", "mine", rule)
    settings = ThresholdSettings(rule="mine")
    answers = [returned, [1, np.inf]]
    assert set_thresholds(settings, scores, labels).tolist() == [1.0, np.inf]
    assert np.array_equal(asked[0][0], scores)
    assert np.array_equal(asked[0][1], labels)
    assert asked[0][2] == settings
    with pytest.raises(StageFailedError, match="the threshold rule 'mine'"):
        set_thresholds(settings, scores, labels)


def test_entry_points_without_a_package_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins are sorted by name, then by package."""

    class Distribution:
        def __init__(self, name: str) -> None:
            self.name, self.version = name, "1"

    class Entry:
        def __init__(self, name: str, package: str | None) -> None:
            self.name, self.dist = name, Distribution(package) if package else None

    entries = [Entry("z", "a"), Entry("m", "b"), Entry("m", "a"), Entry("lost", None)]
    asked: list[str] = []
    monkeypatch.setattr(plugins, "entry_points", lambda group: asked.append(group) or entries)
    list_plugins.cache_clear()
    try:
        found = list_plugins("priors")
    finally:
        list_plugins.cache_clear()
    assert [(plugin.name, plugin.distribution) for plugin in found] == [("m", "a"), ("m", "b"), ("z", "a")]
    assert asked == ["textcat.priors"]
    assert isinstance(EntryPoint, type)


def test_measures_of_plugins_are_computed_beside_the_built_in_ones(install: Install) -> None:
    """Names that textcat has itself are left to it; an undefined value is NaN."""
    install("measures", "share", lambda scores, decisions, labels: decisions.mean())
    install("measures", "undefined", lambda scores, decisions, labels: np.nan)
    install("measures", "broken", lambda scores, decisions, labels: "much")
    scores = np.array([[0.5, -0.5]])
    found = compute_plugin_measures(["micro.f1", "share", "undefined"], scores, scores > 0, scores > 0)
    assert found["share"] == 0.5
    assert np.isnan(found["undefined"])
    assert set(found) == {"share", "undefined"}
    with pytest.raises(StageFailedError, match="the measure 'broken'"):
        compute_plugin_measures(["broken"], scores, scores > 0, scores > 0)
